"""`openproxy server start --detach`: the server as a process of its own, seen to be healthy or stopped again."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from openproxy import logs, paths
from openproxy.cli import instance
from openproxy.cli.global_options import GlobalOptions
from openproxy.cli.instance import Address
from openproxy.cli.robot import CommandError

HEALTHY_SECONDS = 10.0
"""Within which a server must answer (contracts/gateway.md, decision 25)."""
STOP_SECONDS = 12.0
"""Within which a server ends: its requests have 8 seconds to finish."""
_POLL_SECONDS = 0.05
_TAIL_LINES, _TAIL_BYTES = 20, 16 * 1024


def detached(options: GlobalOptions, where: Address, engines: Sequence[str] = ()) -> None:
    """Start the server and come back when it answers. Raises CommandError where it does not, with its log's end."""
    folder = paths.ensure_data_dir(options.folder())
    running = instance.look(folder)
    if running.alive:
        raise instance.running_already(running.pid, folder)
    instance.forget(folder)
    log_file = folder / instance.LOG
    with _open_log(log_file) as log:
        begun = log.tell()
        process = subprocess.Popen(  # noqa: S603 - this program itself
            _command(options, folder, where, engines),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    progress = _Progress(log_file, begun, shown=bool(engines) and not options.quiet)
    try:
        _, port = _await_health(process, folder, where, progress, patient=bool(engines))
    except BaseException:
        _stop(process)
        instance.forget(folder)
        raise
    data = {
        "pid": process.pid,
        "host": where.host,
        "port": port,
        "detached": True,
        "healthy": True,
        "data_dir": str(folder),
        "log_file": str(log_file),
    }
    served = instance.authority(where.host, port)
    options.answer("server.start", data, f"Started openproxy (pid {process.pid}) on {served} — logs: {log_file}")
    if not options.quiet:
        for line in progress.rest():
            # these two are the program's own, and hold no secret
            if line.startswith(("No API key", "Try: ")):
                print(line, file=sys.stderr)  # noqa: T201 - a hint, not a part of the answer


class _Progress:
    """What the server has written to its log since it was started."""

    def __init__(self, path: Path, begun: int, *, shown: bool):
        self._path = path
        self._begun = begun
        self._place = begun
        self._shown = shown

    def show(self) -> None:
        """Pass on the lines about engines that are new, where they are wanted."""
        if self._shown:
            for line in self._lines():
                if line.startswith(("engine ", "downloading ")):
                    print(line, file=sys.stderr, flush=True)  # noqa: T201

    def rest(self) -> list[str]:
        """All lines since the start."""
        self._place = self._begun
        return self._lines()

    def tail(self) -> list[str]:
        """The last lines since the start."""
        return [logs.redact(line) for line in self.rest()[-_TAIL_LINES:]]

    def _lines(self) -> list[str]:
        with self._path.open("rb") as file:
            file.seek(max(self._place, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            text = file.read()
            self._place = file.tell()
        return text.decode("utf-8", "replace").splitlines()


def _command(options: GlobalOptions, folder: Path, where: Address, engines: Sequence[str]) -> list[str]:
    chosen = [f"--data-dir={folder}", f"--log-filter={options.server_log_level()}"]
    wanted = [f"--host={where.host}", f"--port={where.port}", *(f"--engine={reference}" for reference in engines)]
    return [sys.executable, "-m", "openproxy.cli.program", *chosen, "server", "start", *wanted]


def _open_log(path: Path) -> BinaryIO:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    file = os.fdopen(handle, "ab")
    file.seek(0, os.SEEK_END)
    return file


def _await_health(
    process: subprocess.Popen[bytes], folder: Path, where: Address, progress: _Progress, *, patient: bool
) -> tuple[str, int]:
    """Wait until it answers; with `patient` the time begins when its engines are ready. Gives host and port to call."""
    end = time.monotonic() + HEALTHY_SECONDS
    while True:
        progress.show()
        endpoint = instance.read_endpoint(folder) if instance.look(folder).pid == process.pid else None
        if endpoint is None and patient:
            end = time.monotonic() + HEALTHY_SECONDS
        if endpoint is not None and instance.healthy(*endpoint, seconds=1.0):
            return endpoint
        if (status := process.poll()) is not None:
            raise _failed(f"openproxy ended with status {status} instead of starting", progress)
        if time.monotonic() > end:
            served = instance.authority(where.host, where.port)
            told = f"openproxy on {served} did not answer within {HEALTHY_SECONDS:g} s and was stopped again"
            raise _failed(told, progress)
        time.sleep(_POLL_SECONDS)


def _failed(told: str, progress: _Progress) -> CommandError:
    tail = progress.tail()
    written = "\n".join(f"  {line}" for line in tail)
    return CommandError("other", f"{told}. Its log ends:\n{written}" if tail else told, {"log_tail": tail})


def _stop(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def stop(pid: int, folder: Path) -> bool:
    """Ask the server of the data directory to end; gives whether it has ended in time."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + STOP_SECONDS
    while time.monotonic() < end:
        if not instance.look(folder).alive:
            return True
        time.sleep(_POLL_SECONDS)
    return False
