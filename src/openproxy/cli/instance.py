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

from openproxy.cli.robot import CommandError

PID, ENDPOINT, LOG = "openproxy.pid", "openproxy.endpoint", "openproxy.log"
HOST, PORT = "127.0.0.1", 4623
_HEALTH = "/api/health"
_EVERY_ADDRESS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what is not listened on here


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
        with path.open("r+") as file:
            text = file.read().strip()
            alive = not _lock(file.fileno())
    except OSError:
        return Instance(None, alive=False)
    # a server that is just starting holds the lock already and writes its number in a moment
    return Instance(int(text) if text.isdecimal() else None, alive)


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
            text = os.read(handle, 32).decode("ascii", "replace").strip()
            os.close(handle)
            raise running_already(int(text) if text.isdecimal() else None, path.parent)
        with contextlib.suppress(FileNotFoundError):
            if os.fstat(handle).st_ino == path.stat().st_ino:
                return handle
        # the server that had it has just ended and taken the name away
        os.close(handle)


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
        text = (folder / ENDPOINT).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        return None
    return reachable_host(host.removeprefix("[").removesuffix("]")), int(port)


def reachable_host(host: str) -> str:
    """The host by which a server that listens on `host` is called from its own machine."""
    return _EVERY_ADDRESS.get(host, host)


def url(folder: Path) -> str:
    """The address of the data directory's server, or the default one."""
    return "http://" + authority(*(read_endpoint(folder) or (HOST, PORT)))


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
