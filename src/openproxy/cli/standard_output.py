"""Standard output: UTF-8 whatever the locale, every piece flushed as it is written, and what is wrong with it told."""

import json
import sys
from typing import Any, BinaryIO


class Unwritable(Exception):
    """Standard output takes no more, though somebody may still read it: its disk is full, or it is closed."""


class ReaderGone(Exception):
    """Nobody reads standard output any more: not an OSError, of which the parser of the arguments would make its own."""


def put(stream: BinaryIO, data: bytes) -> None:
    """Write all of `data` and flush. Raises Unwritable, ReaderGone."""
    try:
        stream.write(data)
        stream.flush()
    except BrokenPipeError as error:
        raise ReaderGone from error
    except OSError as error:
        raise Unwritable(f"standard output: {error.strerror or error}") from error


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
