"""A real gateway on a free loopback port: in a thread of the test's process, or as a process of its own."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from openproxy.gateway import cli_token, server
from openproxy.gateway.admin.mounting import mounted
from openproxy.gateway.app import Mounted
from openproxy.gateway.services import Services, Settings
from openproxy.providers.http import Limits
from openproxy.store import Access, Store
from openproxy.store.connections import StoredConnection

KEY = "op-test-key-0123456789"
"""The API key that every gateway here has."""
BEARER = {"Authorization": f"Bearer {KEY}"}
ROUTE = "/v1/audio/transcriptions"
AUDIO = b"RIFF\x00--\r\n" + bytes(range(256)) * 8
"""Bytes that look like the parts of a form to a careless reader."""


@dataclass
class Gateway:
    """A running gateway: `run` does something with its services, on its own event loop."""

    url: str
    data_dir: Path
    spool: Path
    _loop: asyncio.AbstractEventLoop = field(repr=False)
    _services: Callable[[], Services] = field(repr=False)

    @property
    def services(self) -> Services:
        return self._services()

    @property
    def cli_token(self) -> str:
        return cli_token.ensure(self.data_dir)

    def run(self, work: Callable[[Store], Coroutine[Any, Any, Any]]) -> Any:
        return asyncio.run_coroutine_threadsafe(work(self.services.store), self._loop).result(30)

    def add_key(self, secret: str, name: str = "test", *, active: bool = True) -> str:
        """Its id."""

        async def work(store: Store) -> str:
            added = await store.keys.add(name, secret)
            if not active:
                await store.keys.update(added.key.id, is_active=False)
            return added.key.id

        return self.run(work)

    def connect(
        self,
        provider: str,
        base_url: str | None,
        secret: str = "test-key-0123456789abcdef",
        *,
        name: str = "main",
        priority: int | None = None,
        active: bool = True,
        limited: str | None = None,
        **data: object,
    ) -> StoredConnection:
        """Add an account; `limited` is its rateLimitedUntil, `data` goes to providerSpecificData."""
        told = {"mediaType": "stt", **({"baseUrl": base_url} if base_url else {}), **data}

        async def work(store: Store) -> StoredConnection:
            added = await store.connections.add(
                provider, name, api_key=secret, data=told, priority=priority, is_active=active
            )
            return await store.connections.update(added.id, rate_limited_until=limited) if limited else added

        return self.run(work)

    def settings(self, **changes: object) -> None:
        self.run(lambda store: store.settings.update(**changes))

    def reset(self) -> None:
        """Take everything out of the store but the first key, as if the gateway had just been made."""

        async def work(store: Store) -> None:
            snapshot = await store.snapshot()
            for connection in snapshot.connections:
                await store.connections.delete(connection.id)
            for combo in snapshot.combos.values():
                await store.combos.delete(combo.id)
            for alias in snapshot.aliases:
                await store.aliases.delete(alias)
            for key in snapshot.keys[1:]:
                await store.keys.delete(key.id)
            await store.settings.update(
                require_login=None, max_upload_bytes=None, upload_idle_seconds=None, usage_days=None, formats=None
            )

        self.run(work)

    def tasks(self) -> list[str]:
        """The tasks that run on the gateway's loop."""

        async def work(_store: Store) -> list[str]:
            here = asyncio.current_task()
            return [repr(task) for task in asyncio.all_tasks() if task is not here]

        return self.run(work)

    def kept(self) -> list[Path]:
        """The uploads that lie on disk, given some seconds to go away."""
        end = time.monotonic() + 10
        while (files := sorted(self.spool.iterdir())) and time.monotonic() < end:
            time.sleep(0.01)
        return files

    def post(
        self,
        model: str | None = None,
        data: bytes | None = AUDIO,
        *,
        filename: str = "clip.wav",
        content_type: str = "audio/wav",
        file_first: bool = False,
        path: str = ROUTE,
        headers: Mapping[str, str] | None = None,
        **fields: object,
    ) -> httpx.Response:
        """Post a form: model and fields, then the file, or the other way round. A list is a repeated field."""
        parts: list[tuple[str, Any]] = [] if model is None else [("model", (None, model))]
        for name, value in fields.items():
            parts += [(name, (None, str(one))) for one in (value if isinstance(value, list) else [value])]
        file = [] if data is None else [("file", (filename, data, content_type))]
        parts = file + parts if file_first else parts + file
        if not parts:
            parts = [("none", (None, ""))]
        return httpx.post(self.url + path, files=parts, headers={**BEARER, **(headers or {})}, timeout=60)

    def post_json(self, document: object, *, path: str = ROUTE, headers: Mapping[str, str] | None = None):
        sent = {**BEARER, "Content-Type": "application/json", **(headers or {})}
        return httpx.post(self.url + path, content=json.dumps(document), headers=sent, timeout=60)

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        return httpx.get(self.url + path, headers=BEARER if headers is None else headers, timeout=30)


@contextmanager
def running(
    data_dir: Path, *, admin: Mounted | None = mounted, upstream: Limits | None = None, trust_proxy: bool = False
) -> Iterator[Gateway]:
    """A gateway with the key KEY, in a thread of this process."""
    spool = data_dir / "spool"
    spool.mkdir(parents=True, exist_ok=True)
    settings = Settings(Access(data_dir), trust_proxy=trust_proxy, upstream=upstream or Limits(), spool=spool)
    configured = server.config(settings, port=0, admin=admin)
    running_server = uvicorn.Server(configured)
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        await running_server.serve()

    thread = threading.Thread(
        target=lambda: asyncio.Runner(loop_factory=configured.get_loop_factory()).run(serve()), daemon=True
    )
    thread.start()
    _until(lambda: running_server.started or not thread.is_alive())
    assert running_server.started, "the gateway did not start"
    host, port = running_server.servers[0].sockets[0].getsockname()[:2]
    gateway = Gateway(f"http://{host}:{port}", data_dir, spool, loops[0], lambda: configured.app.services)
    gateway.add_key(KEY, "first")
    try:
        yield gateway
    finally:
        running_server.should_exit = True
        thread.join(15)
        assert not thread.is_alive(), "the gateway did not stop"


@dataclass
class Process:
    """A gateway that runs as a process of its own, on the data directory `data_dir`."""

    url: str
    process: subprocess.Popen[bytes]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Its exit status."""
        self.process.send_signal(number)
        return self.process.wait(20)


@contextmanager
def process(data_dir: Path, env: Mapping[str, str] | None = None) -> Iterator[Process]:
    """Start a gateway and wait until it answers; it is killed at the end if it still runs."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    started = subprocess.Popen(
        [sys.executable, __file__, str(data_dir), str(port)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(env or {})},
    )
    this = Process(f"http://127.0.0.1:{port}", started)
    try:
        _until(lambda: _healthy(this.url) or started.poll() is not None)
        assert started.poll() is None, "the gateway did not start"
        yield this
    finally:
        if started.poll() is None:
            started.kill()
            started.wait()


def provision(data_dir: Path, *accounts: tuple[str, str, str], key: str = KEY) -> None:
    """Put a key and accounts (provider, base URL, secret) into a data directory that no gateway has to be running on."""

    async def work() -> None:
        async with await Store.open(Access.from_environment(data_dir)) as store:
            await store.keys.add("first", key)
            for number, (provider, base_url, secret) in enumerate(accounts):
                data = {"mediaType": "stt", "baseUrl": base_url}
                await store.connections.add(provider, f"account {number}", api_key=secret, data=data, priority=number)

    asyncio.run(work())


def form(*parts: tuple[str, bytes], boundary: str = "----bodyofatest", end: bytes | None = None) -> tuple[bytes, str]:
    """A body whose every header byte is under control, and its content type: parts are (header lines, content)."""
    dash = b"--" + boundary.encode()
    body = b"".join(
        dash + b"\r\n" + head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + content + b"\r\n"
        for head, content in parts
    )
    return body + (dash + b"--\r\n" if end is None else end), f"multipart/form-data; boundary={boundary}"


def text(name: str, value: str | bytes) -> tuple[str, bytes]:
    """A field for `form`."""
    return f'Content-Disposition: form-data; name="{name}"', value if isinstance(value, bytes) else value.encode()


def file(content: bytes = AUDIO, filename: str | None = "clip.wav", name: str = "file") -> tuple[str, bytes]:
    """A file for `form`."""
    given = "" if filename is None else f'; filename="{filename}"'
    return f'Content-Disposition: form-data; name="{name}"{given}\nContent-Type: audio/wav', content


def error(response: httpx.Response) -> tuple[int, str]:
    """Status and message of an error, whose whole envelope is checked."""
    envelope = json.loads(response.content)
    assert list(envelope) == ["error"]
    assert list(envelope["error"]) == ["message", "type", "param", "code"]
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["x-request-id"].startswith("req_")
    return response.status_code, envelope["error"]["message"]


def _healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def _until(true: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


if __name__ == "__main__":
    server.serve(server.settings_from_environment(Path(sys.argv[1])), port=int(sys.argv[2]))
