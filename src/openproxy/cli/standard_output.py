"""Standard output: UTF-8 whatever the locale, every piece flushed as it is written, and what is wrong with it told."""

import json
import select
import sys
from typing import Any, BinaryIO


class Unwritable(Exception):
    """Standard output takes no more, though somebody may still read it: its disk is full, or it is closed."""


class ReaderGone(Exception):
    """Nobody reads standard output any more: not an OSError, of which the parser of the arguments would make its own."""


def put(stream: BinaryIO, data: bytes) -> None:
    """Write all of `data` and flush, however little the stream takes at a time. Raises Unwritable, ReaderGone.

    An unbuffered stream (PYTHONUNBUFFERED) takes less where a signal comes or the disk fills up, and a stream that
    another program has made non-blocking takes nothing while its reader is slow.
    """
    left = memoryview(data)
    try:
        while left:
            left = left[_written(stream, left) :]
        while not _flushed(stream):
            pass
    except BrokenPipeError as error:
        raise ReaderGone from error
    except OSError as error:
        raise Unwritable(f"standard output: {error.strerror or error}") from error


def _written(stream: BinaryIO, data: memoryview) -> int:
    try:
        count: int | None = stream.write(data)
    except BlockingIOError as error:
        count = error.characters_written or None
    if count is None:
        select.select([], [stream], [])
    return count or 0


def _flushed(stream: BinaryIO) -> bool:
    try:
        stream.flush()
    except BlockingIOError:
        select.select([], [stream], [])
        return False
    return True


class StandardOutput:
    """What is written to it; `terminal` says whether a person reads along."""

    def __init__(self, stream: BinaryIO | None = None, *, terminal: bool | None = None):
        self._stream = stream if stream is not None else sys.stdout.buffer
        self.terminal = sys.stdout.isatty() if terminal is None else terminal

    def write(self, text: str) -> None:
        """Write `text`; what stands for a broken byte of a file name is spelled out, in the way that JSON knows too."""
        put(self._stream, text.encode("utf-8", "backslashreplace"))

    def body(self, body: bytes) -> None:
        """A whole document, with a line break at its end if it has none."""
        put(self._stream, body if not body or body.endswith(b"\n") else body + b"\n")

    def line(self, value: dict[str, Any]) -> None:
        """One JSON object on a line of its own."""
        self.write(json.dumps(value, ensure_ascii=False) + "\n")
