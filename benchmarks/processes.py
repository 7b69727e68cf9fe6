"""A child process from start to end: what it wrote and when, the CPU it used, the memory it took."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

ENVIRONMENT = {**os.environ, "PYTHONUNBUFFERED": "1"}
"""Of every child; unbuffered, so that a first text is seen when it is printed."""
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class Chunk:
    """Something that was written."""

    seconds: float
    """Since the start of the process."""
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A process that has ended well."""

    cpu: float
    """Seconds of user and system time, of the process and its own children."""
    peak: float
    """Largest resident memory in MB (10^6 bytes). Never less than what the process that started it had."""
    elapsed: float
    """Seconds from start to end."""
    stdout: Sequence[Chunk]
    stderr: Sequence[Chunk]

    @property
    def text(self) -> str:
        """All of standard output."""
        return "".join(chunk.text for chunk in self.stdout)

    @property
    def told(self) -> str:
        """All of standard error."""
        return "".join(chunk.text for chunk in self.stderr)

    def first(self, mark: str = "") -> float:
        """Seconds from the start to the first `mark` on standard output; to anything but white space without a mark."""
        return next(chunk.seconds for chunk in self.stdout if chunk.text.strip() and mark in chunk.text)


def run(command: Sequence[str | Path], *, status: int = 0) -> Finished:
    """Run a command to its end. Raises RuntimeError, with what it wrote, where it ends with another status."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    )
    written: tuple[list[Chunk], list[Chunk]] = ([], [])
    readers = [
        threading.Thread(target=_read, args=(stream, chunks, begun))
        for stream, chunks in zip((process.stdout, process.stderr), written, strict=True)
    ]
    for reader in readers:
        reader.start()
    _, code, usage = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(code)
    for reader in readers:
        reader.join()
    if process.returncode != status:
        told = "".join(chunk.text for chunk in written[1])
        raise RuntimeError(f"{' '.join(map(str, command))} ended with status {process.returncode}: {told}")
    return Finished(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _RSS_UNIT / 1e6, elapsed, *written)


def _read(stream: BinaryIO, chunks: list[Chunk], begun: float) -> None:
    with stream:
        while data := stream.read1():  # type: ignore[attr-defined]
            chunks.append(Chunk(time.perf_counter() - begun, data.decode(errors="replace")))
