"""A real `openproxy-engine` on a free loopback port, as a process of its own."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

CASES = Path(__file__).parents[1] / "data" / "cases"
SPEECH = Path(__file__).parents[1] / "data" / "speech"


@dataclass
class EngineServer:
    """A running engine: where it listens, its process, and what it wrote to standard error."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    url: str = ""

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def worker(self) -> psutil.Process:
        """The process of the model."""
        children = psutil.Process(self.process.pid).children()
        return next(child for child in children if "worker_process" in " ".join(child.cmdline()))

    def post(self, name: str | Path, path: str = "/v1/audio/transcriptions", **fields: object) -> httpx.Response:
        """Post a case (by name) or a file (by path) with form fields; a list is a repeated field."""
        file = name if isinstance(name, Path) else CASES / name
        return self.post_bytes(file.read_bytes(), file.name, path, **fields)

    def post_bytes(
        self, data: bytes, filename: str = "x.wav", path: str = "/v1/audio/transcriptions", **fields: object
    ) -> httpx.Response:
        return httpx.post(self.url + path, files={"file": (filename, data)}, data=fields, timeout=120)

    def wait(self, path: str = "/health", status: int = 200, seconds: float = 60) -> None:
        """Until a GET answers with this status."""
        end = time.monotonic() + seconds
        while True:
            try:
                if httpx.get(self.url + path, timeout=5).status_code == status:
                    return
            except httpx.TransportError:
                pass
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"no {status} on {path}; the engine wrote: {self.lines}")
            time.sleep(0.05)


def start(*arguments: str, env: dict[str, str] | None = None) -> EngineServer:
    """Start an engine and wait until its port is open; the model may still be loading."""
    command = [sys.executable, "-m", "openproxy.engine.main", "--port", "0", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
    server = EngineServer(process)
    opened = threading.Event()

    def read() -> None:
        for line in process.stderr or ():
            server.lines.append(line)
            found = re.search(r"on (http://\S+) - try", line)
            if found:
                server.url = found[1]
                opened.set()
        opened.set()

    threading.Thread(target=read, daemon=True).start()
    assert opened.wait(30), "the engine did not start"
    return server


def stop(server: EngineServer) -> int:
    """Ask it to end; returns its exit status."""
    if server.process.poll() is None:
        server.process.send_signal(signal.SIGTERM)
    try:
        return server.process.wait(15)
    except subprocess.TimeoutExpired:
        server.process.kill()
        raise


@contextmanager
def running(*arguments: str) -> Iterator[EngineServer]:
    """An engine with its model loaded, for as long as the block lasts."""
    server = start(*arguments)
    try:
        server.wait()
        yield server
    finally:
        stop(server)
