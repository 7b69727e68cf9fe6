"""The servers under comparison, each a process of its own on loopback, and the client that loads them."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from programs.load import Order, Outcome

from gateway_parts import litellm
from openproxy.store import Access, Store

ROUTE = "/v1/audio/transcriptions"
_KEY = "op-benchmark-0123456789"
_ONE, _TWO = "openai", "groq"
"""Providers of the same wire: the first has one account here, the second two."""
_PROGRAMS = Path(__file__).parents[1] / "programs"
_OPENPROXY = Path(sys.executable).with_name("openproxy")
_START_SECONDS = 120.0
_STOP_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Client:
    """What a request to a server holds."""

    key: str
    one: str
    """The model with one account behind it."""
    two: str | None
    """The model with two; None where there is no such thing."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers."""

    name: str
    url: str
    process: psutil.Process
    client: Client
    start_up: float
    """Seconds from the start of the process to its first answer."""

    @property
    def cpu(self) -> float:
        """Seconds of user and system time so far."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    @property
    def memory(self) -> float:
        """Resident MB (10^6 bytes)."""
        return float(self.process.memory_info().rss) / 1e6

    def forget_peak(self) -> None:
        """Have `peak` begin anew."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5", encoding="ascii")

    @property
    def peak(self) -> float:
        """The most resident MB since the start, or since `forget_peak`."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
        raise RuntimeError("the system does not tell the peak of a process")


@dataclass(frozen=True, slots=True)
class Servers:
    """All of them."""

    upstream: Server
    forwarder: Server
    openproxy: Server
    litellm: Server


class Load:
    """The client, in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]"):
        self._process = process

    def run(self, order: Order) -> Outcome:
        """Carry it out. Raises RuntimeError where the client has died."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(order)) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the client of the benchmark has died")
        return Outcome(**json.loads(line))


@contextmanager
def load() -> Iterator[Load]:
    """The client, for as long as the block lasts."""
    pipe = subprocess.PIPE
    command: list[str | Path] = [sys.executable, _PROGRAMS / "load.py"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8") as process:
        yield Load(process)
        assert process.stdin is not None
        process.stdin.close()


@contextmanager
def running(scratch: Path) -> Iterator[Servers]:
    """All four, for as long as the block lasts; what they write goes to files in `scratch`."""
    litellm_command = litellm.install()
    data_dir = scratch / "data"
    with ExitStack() as stack:

        def start(name: str, port: int, command: Sequence[str | Path], client: Client) -> Server:
            return stack.enter_context(_started(scratch, name, port, command, client))

        port = _free_port()
        base = f"http://127.0.0.1:{port}"
        nobody = Client("-", "-", None)
        upstream = start("upstream", port, [sys.executable, _PROGRAMS / "upstream.py", str(port)], nobody)
        port = _free_port()
        command: list[str | Path] = [sys.executable, _PROGRAMS / "forwarder.py", str(port), base + ROUTE]
        forwarder = start("forwarder", port, command, nobody)
        asyncio.run(_provision(data_dir, base))
        port = _free_port()
        command = [_OPENPROXY, "--data-dir", data_dir, "server", "start", "--port", str(port)]
        ours = start("openproxy", port, command, Client(_KEY, f"{_ONE}/whisper-1", f"{_TWO}/whisper-large-v3"))
        port = _free_port()
        config = litellm.configure(scratch / "litellm.json", f"{base}/v1")
        where = ["--host", "127.0.0.1", "--port", str(port), "--num_workers", "1"]
        client = Client(litellm.KEY, litellm.ONE, litellm.TWO)
        theirs = start("litellm", port, [litellm_command, "--config", config, *where], client)
        yield Servers(upstream, forwarder, ours, theirs)


async def _provision(data_dir: Path, upstream: str) -> None:
    """Give our gateway its key and its accounts."""
    async with await Store.open(Access(data_dir)) as store:
        await store.keys.add("benchmark", _KEY)
        for number, provider in enumerate((_ONE, _TWO, _TWO)):
            told = {"mediaType": "stt", "baseUrl": upstream}
            await store.connections.add(provider, f"account {number}", api_key=f"account-{number}", data=told)


@contextmanager
def _started(scratch: Path, name: str, port: int, command: Sequence[str | Path], client: Client) -> Iterator[Server]:
    begun = time.monotonic()
    log = scratch / f"{name}.log"
    with log.open("wb") as told:
        environment = {**os.environ, **litellm.ENVIRONMENT}
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=told, stderr=told, env=environment)
    try:
        process = psutil.Process(child.pid)
        while not (_listens(process, port) and _answers(port)):
            if child.poll() is not None or time.monotonic() - begun > _START_SECONDS:
                raise RuntimeError(
                    f"{name} does not start: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}"
                )
            time.sleep(0.05)
        yield Server(name, f"http://127.0.0.1:{port}{ROUTE}", process, client, time.monotonic() - begun)
    finally:
        child.terminate()
        try:
            child.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _listens(process: psutil.Process, port: int) -> bool:
    """Whether it is this process that listens there, and no other that was quicker."""
    try:
        return any(one.status == psutil.CONN_LISTEN and one.laddr[1] == port for one in process.net_connections("tcp"))
    except psutil.Error:
        return False


def _answers(port: int) -> bool:
    """Whether a request is answered, whatever the answer: a port that is open is not yet a server that works."""
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return connection.recv(5) == b"HTTP/"
    except OSError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
