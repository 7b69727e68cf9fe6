"""The server of a data directory as other processes see it: who runs it, where it listens, whether it answers.

A server holds a lock on its pid file for as long as it lives, so that neither a crash nor a number that another process
has got since then is taken for it (contracts/gateway.md, section 6.1 and B35).
"""

import contextlib
import http.client
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openproxy.cli import environment
from openproxy.cli.global_options import GlobalOptions
from openproxy.cli.robot import CommandError

PID, ENDPOINT, LOG = "openproxy.pid", "openproxy.endpoint", "openproxy.log"
HOST, PORT = "127.0.0.1", 4623
_HEALTH = "/api/health"
_EVERY_ADDRESS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what is not listened on here


_LONGEST = 512
"""Bytes of a file that are looked at: what a server has written is shorter."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Instance:
    """What the files of a data directory say."""

    pid: int | None
    """As the pid file has it; None where there is no such file."""
    alive: bool
    """Whether that process is a server of this data directory."""


def look(folder: Path) -> Instance:
    """The server of the data directory, running or not."""
    path = folder / PID
    try:
        with path.open("r+b") as file:
            number = _number(file.read(_LONGEST))
            alive = not _lock(file.fileno())
    except OSError:
        return Instance(None, alive=False)
    # a server that is just starting holds the lock already and writes its number in a moment
    return Instance(number, alive)


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Be the server of the data directory: the pid file is there, and goes with the block.

    Raises CommandError (conflict) where another server has the data directory.
    """
    path = folder / PID
    file = _claim(path)
    try:
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())
        yield
    finally:
        # the names go before the lock, so that a file that is there and not locked was left by a crash
        (folder / ENDPOINT).unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        os.close(file)


def _claim(path: Path) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if not _lock(handle):
            number = _number(os.read(handle, _LONGEST))
            os.close(handle)
            raise running_already(number, path.parent)
        with contextlib.suppress(FileNotFoundError):
            if os.fstat(handle).st_ino == path.stat().st_ino:
                return handle
        # the server that had it has just ended and taken the name away
        os.close(handle)


def _number(written: bytes) -> int | None:
    """The process that a pid file names; None where it names none."""
    text = written.strip()
    return int(text) if text.isdigit() and len(text) < 20 else None


def _lock(handle: int) -> bool:
    """Whether the lock could be had."""
    import fcntl  # POSIX alone has it, and only those who look for a server need it

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def running_already(pid: int | None, folder: Path) -> CommandError:
    """The error of a second start."""
    return CommandError("conflict", f"openproxy already running (pid {pid}) for data dir {folder}")


def forget(folder: Path) -> None:
    """Remove what a server that was killed has left."""
    for name in (PID, ENDPOINT):
        (folder / name).unlink(missing_ok=True)


def authority(host: str, port: int) -> str:
    """`host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def write_endpoint(folder: Path, host: str, port: int) -> None:
    """Tell other processes where this server listens."""
    (folder / ENDPOINT).write_text(authority(host, port), "utf-8")


def read_endpoint(folder: Path) -> tuple[str, int] | None:
    """Where the server of the data directory is reached from this machine; None where no server says so."""
    try:
        with (folder / ENDPOINT).open("rb") as file:
            text = file.read(_LONGEST).decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    host, _, port = text.rpartition(":")
    if not port.isdigit() or len(port) > 5 or not 0 < int(port) < 65536:
        return None
    return reachable_host(host.removeprefix("[").removesuffix("]")), int(port)


def reachable_host(host: str) -> str:
    """The host by which a server that listens on `host` is called from its own machine."""
    return _EVERY_ADDRESS.get(host, host)


def address(options: GlobalOptions, host: str | None = None, port: int | None = None) -> Address:
    """Where to listen: what was given, else the environment's, else the defaults. Raises CommandError."""
    host = host if host is not None else options.host
    port = port if port is not None else options.port
    host = host if host is not None else environment.host()
    port = port if port is not None else environment.port()
    return Address(host or HOST, PORT if port is None else port)


def endpoint(options: GlobalOptions, folder: Path) -> tuple[str, int]:
    """Where the data directory's server is called: as it says itself, else where one that is started here would be."""
    if (told := read_endpoint(folder)) is not None:
        return told
    where = address(options)
    return reachable_host(where.host), where.port or PORT


def url(options: GlobalOptions, folder: Path) -> str:
    """The address of the data directory's server."""
    return "http://" + authority(*endpoint(options, folder))


def health_url(base: str) -> str:
    """What is asked whether a server answers."""
    return base + _HEALTH


def healthy(host: str, port: int, seconds: float) -> bool:
    """Whether an OpenProxy server answers there within the time."""
    connection = http.client.HTTPConnection(host, port, timeout=seconds)
    try:
        connection.request("GET", _HEALTH)
        response = connection.getresponse()
        return response.status == 200 and json.loads(response.read(1024)) == {"ok": True}
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()
