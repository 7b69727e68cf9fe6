"""Standard output of a run: UTF-8 whatever the locale, every piece flushed as it is written."""

import json
import sys
from typing import Any, BinaryIO


class StandardOutput:
    """What is written to it; `terminal` says whether a person reads along."""

    def __init__(self, stream: BinaryIO | None = None, *, terminal: bool | None = None):
        self._stream = stream if stream is not None else sys.stdout.buffer
        self.terminal = sys.stdout.isatty() if terminal is None else terminal

    def write(self, text: str) -> None:
        """Write `text`; what stands for a broken byte of a file name is spelled out, in the way that JSON knows too."""
        self._stream.write(text.encode("utf-8", "backslashreplace"))
        self._stream.flush()

    def body(self, body: bytes) -> None:
        """A whole document, with a line break at its end if it has none."""
        self._stream.write(body if not body or body.endswith(b"\n") else body + b"\n")
        self._stream.flush()

    def line(self, value: dict[str, Any]) -> None:
        """One JSON object on a line of its own."""
        self.write(json.dumps(value, ensure_ascii=False) + "\n")
