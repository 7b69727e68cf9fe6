"""`openproxy server start` in the foreground: claim the data directory, listen, start the engines, serve until a signal."""

import asyncio
import errno
import logging
import os
import shlex
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from openproxy import logs, paths
from openproxy.cli import engine_child, instance
from openproxy.cli.global_options import GlobalOptions
from openproxy.cli.instance import Address
from openproxy.cli.robot import CommandError
from openproxy.gateway import server
from openproxy.store import Access, Store


def foreground(options: GlobalOptions, where: Address, engines: Sequence[str] = ()) -> None:
    """Serve until SIGINT or SIGTERM. Raises CommandError where that cannot be begun."""
    logs.setup(options.server_log_level())
    logging.getLogger("alembic").setLevel(logging.WARNING)
    signal.signal(signal.SIGTERM, _end)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        # its terminal is closed; with nohup it goes on
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    folder = paths.ensure_data_dir(options.folder())
    settings = server.settings_from_environment(folder)
    with instance.claimed(folder), _listen(where) as listener:
        keys = asyncio.run(_prepare(settings.access))
        told = threading.Lock()

        def say(line: str) -> None:
            if not options.quiet:
                with told:
                    print(line, file=sys.stderr, flush=True)  # noqa: T201 - progress, not a log record

        try:
            with engine_child.running(engines, settings.access, say) as children:
                port = listener.getsockname()[1]
                instance.write_endpoint(folder, where.host, port)
                _announce(options, Address(where.host, port), folder, children)
                if keys == 0:
                    say(_no_key(folder))
                _serve(settings, listener)
        except KeyboardInterrupt:
            return


def _no_key(folder: Path) -> str:
    """How to make the first key, in a command that works as it stands."""
    named = "" if folder == paths.data_dir() else f"--data-dir {shlex.quote(str(folder))} "
    return f"No API key yet. Make one with: openproxy {named}server init"


def _serve(settings: Any, listener: socket.socket) -> None:
    from openproxy.gateway.admin.mounting import mounted

    if not server.serve(settings, listener=listener, admin=mounted):
        raise CommandError("other", "the server could not be started; the lines above tell why")


def _end(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Leave by the way that removes the server's files; uvicorn calls this when running requests are done."""
    raise SystemExit(0)


def _listen(where: Address) -> socket.socket:
    """The listening socket. Raises CommandError where the address cannot be had."""
    try:
        found = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, place = found[0]
        every = family == socket.AF_INET6 and place[0] == "::" and socket.has_dualstack_ipv6()
        return socket.create_server(place[:2], family=family, backlog=2048, dualstack_ipv6=every)
    except OSError as error:
        code = "conflict" if error.errno == errno.EADDRINUSE else "other"
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
        told = f"cannot listen on {where.host} port {where.port}: {reason}"
        raise CommandError(code, told) from None


async def _prepare(access: Access) -> int:
    """See that the database and its key can be used, and forget the engines of a server that was killed.

    Gives the number of API keys. Raises StoreUnusable.
    """
    async with await Store.open(access) as store:
        await engine_child.forget(store, engine_child.owner(access))
        return len(await store.keys.list())


def _announce(options: GlobalOptions, where: Address, folder: Path, engines: Sequence[engine_child.Engine]) -> None:
    data: dict[str, Any] = {
        "pid": os.getpid(),
        "host": where.host,
        "port": where.port,
        "detached": False,
        "data_dir": str(folder),
    }
    served = instance.authority(where.host, where.port)
    lines = [f"Starting openproxy on {served} (pid {os.getpid()})"]
    if engines:
        data["models"] = [f"{engine_child.PROVIDER}/{engine.model}" for engine in engines]
        here = instance.authority(instance.reachable_host(where.host), where.port)
        lines.append(
            f"Try: curl http://{here}/v1/audio/transcriptions"
            f' -H "Authorization: Bearer $OPENPROXY_API_KEY" -F model={data["models"][0]} -F file=@speech.wav'
        )
    options.answer("server.start", data, "\n".join(lines))
