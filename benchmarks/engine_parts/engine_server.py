"""A running `openproxy-engine`: its address, its processes, and their memory."""

import re
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from engine_parts.setting import ENGINE

ROUTE = "/v1/audio/transcriptions"
PATIENCE = 300.0
"""Seconds that an answer may take."""
_POLL = 0.02


@dataclass(frozen=True, slots=True)
class Server:
    """An engine whose model is loaded."""

    process: psutil.Process
    url: str
    start_up: float
    """Seconds from the start of the process to the first 200 of /ready."""

    @property
    def worker(self) -> psutil.Process:
        """The process of the model."""
        return next(child for child in self.process.children() if "worker_process" in " ".join(child.cmdline()))

    @property
    def both(self) -> tuple[psutil.Process, psutil.Process]:
        """The server and the process of the model."""
        return self.process, self.worker

    def post(self, file: Path) -> httpx.Response:
        """Have a recording transcribed, over a connection of its own."""
        with file.open("rb") as data:
            return httpx.post(self.url + ROUTE, files={"file": (file.name, data)}, timeout=PATIENCE)


def memory_of(processes: Iterable[psutil.Process]) -> float:
    """Resident MB (10^6 bytes), together."""
    return sum(float(process.memory_info().rss) for process in processes) / 1e6


def cpu_of(processes: Iterable[psutil.Process]) -> float:
    """Seconds of user and system time, together."""
    times = [process.cpu_times() for process in processes]
    return sum(float(time.user + time.system) for time in times)


@contextmanager
def running(*arguments: str, model: str | Path = "tiny.en", api: str = "openai") -> Iterator[Server]:
    """An engine on a free port, for as long as the block lasts."""
    begun = time.monotonic()
    command: list[str | Path] = [ENGINE, "-m", model, "--api", api, "--port", "0", *arguments]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        url = _announced(child)
        while not _ready(url):
            time.sleep(_POLL)
        yield Server(psutil.Process(child.pid), url, time.monotonic() - begun)
    finally:
        child.terminate()
        child.wait(30)


def _announced(child: subprocess.Popen[str]) -> str:
    """The address that the engine says it listens on; what it says later is read and forgotten."""
    assert child.stderr is not None
    for line in child.stderr:
        if found := re.search(r" on (http://\S+) - try", line):
            threading.Thread(target=child.stderr.read, daemon=True).start()
            return found[1]
    raise RuntimeError("the engine ended before it listened")


def _ready(url: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{url}/ready").status_code == 200
    return False
