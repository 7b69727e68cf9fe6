"""A running engine: the port is open at once, the model is loaded behind it, and a signal lets running work finish."""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from urllib.parse import quote

import uvicorn

from openproxy import freed_memory, logs, spool
from openproxy.engine.app import App
from openproxy.engine.settings import EngineSettings
from openproxy.engine.worker import Worker, WorkerSettings
from openproxy.engine.worker_messages import ModelSettings
from openproxy.errors import OpenProxyError
from openproxy.web import serving

DRAIN_SECONDS = 8.0
"""Within which running work may finish after a signal."""
CLOSE_SECONDS = 9
"""Within which connections must be closed after a signal, whatever they do."""
SHRINK_SECONDS = 3.0
"""So often what bodies and answers have left free goes back to the system: single pages of it are in use for long."""

_log = logging.getLogger(__name__)


def serve(host: str, port: int, settings: EngineSettings, model: ModelSettings, limits: WorkerSettings) -> int:
    """Serve until SIGINT or SIGTERM; returns the exit status: 1 where the port or the model cannot be had."""
    for key in settings.keys:
        logs.register_secret(key)
    try:
        listener = _listen(host, port)
    except OSError as error:
        print(f"openproxy-engine: cannot listen on {host} port {port}: {error.strerror}", file=sys.stderr)  # noqa: T201
        return 1
    freed_memory.hold_little(stores=1)
    spool.sweep()
    worker = Worker(model, limits)
    config = serving.config(App(settings, worker), lifespan="off", close_seconds=CLOSE_SECONDS)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        return runner.run(_run(_Server(config, worker), listener, settings))


class _Server(uvicorn.Server):
    """Drains the worker on the first signal; on the second one it leaves at once."""

    def __init__(self, config: uvicorn.Config, worker: Worker):
        super().__init__(config)
        self.worker = worker
        self.draining: asyncio.Task[None] | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM for a request to finish; the process then ends with its own exit status."""
        wanted = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in wanted}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop listening and let what runs finish."""
        super().handle_exit(sig, frame)
        asyncio.get_running_loop().call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        if self.draining is None:
            self.draining = asyncio.create_task(self.worker.drain(DRAIN_SECONDS))


async def _run(server: _Server, listener: socket.socket, settings: EngineSettings) -> int:
    worker = server.worker
    _announce(listener, worker.model, settings)
    served = asyncio.create_task(server.serve([listener]))
    loading = asyncio.create_task(worker.start())
    shrinking = asyncio.create_task(_shrink())
    try:
        await asyncio.wait({served, loading}, return_when=asyncio.FIRST_COMPLETED)
        if loading.done() and (error := loading.exception()) is not None:
            server.should_exit = True
            await served
            if not isinstance(error, OpenProxyError):
                raise error
            print(f"openproxy-engine: {error.message}", file=sys.stderr)  # noqa: T201
            return 1
        if loading.done():
            _log.info("The model is loaded")
        await served
    finally:
        loading.cancel()
        shrinking.cancel()
        await worker.stop()
    return 0


async def _shrink() -> None:
    while True:
        await asyncio.sleep(SHRINK_SECONDS)
        freed_memory.give_back()


def _listen(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
    return listener


def _announce(listener: socket.socket, model: ModelSettings, settings: EngineSettings) -> None:
    host, port = listener.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    key = ' -H "Authorization: Bearer KEY"' if settings.keys else ""
    print(  # noqa: T201
        f"openproxy-engine serves {model.reference} on {url}"
        f" - try: curl {url}{quote(settings.prefix)}/v1/audio/transcriptions{key} -F file=@speech.wav",
        file=sys.stderr,
        flush=True,
    )
