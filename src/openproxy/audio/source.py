"""The bytes of a clip as ffmpeg reads them: with an end, however they are asked for."""

import copy
import os
import time
from io import BytesIO, FileIO
from pathlib import Path
from typing import BinaryIO

_MAX_JUMPS = 1000
"""Seeks without a read, beyond which a file ends for ffmpeg: it makes a few for each chunk, and here is nothing else."""


class Source:
    """The bytes of a clip, read from the start as often as needed; without a name, so that only content decides."""

    def __init__(self, source: str | Path | bytes | BinaryIO):
        self._owned = isinstance(source, str | Path | bytes)
        self._file: BinaryIO | FileIO
        if isinstance(source, bytes):
            self._file = BytesIO(source)
        elif isinstance(source, str | Path):
            self._file = FileIO(source)
        else:
            self._file = source
        self._start = 0
        self._jumps = 0
        self._until: float | None = None
        self._corrections: tuple[tuple[int, bytes], ...] = ()
        self.size = self._file.seek(0, os.SEEK_END)
        """In bytes."""

    def part(self, start: int, end: int) -> "Source":
        """The bytes from `start` to before `end` as a clip of their own. Parts of one file are read one after another."""
        part = copy.copy(self)
        part._owned, part._start, part.size = False, self._start + start, end - start
        part._corrections = ()
        return part

    def corrected(self, *corrections: tuple[int, bytes]) -> "Source":
        """The same clip with other bytes where they are given: an offset, and what stands there."""
        corrected = self.part(0, self.size)
        corrected._corrections = corrections
        return corrected

    def limit_work(self, seconds: float | None) -> None:
        """End the clip where it is read after so many seconds of this thread's processor time; None ends the limit."""
        self._until = None if seconds is None else time.thread_time() + seconds

    def read(self, size: int) -> bytes:
        """Up to `size` bytes from here on."""
        jumps, self._jumps = self._jumps, 0
        here = self.tell()
        if jumps > _MAX_JUMPS or (self._until is not None and time.thread_time() > self._until):
            self.size = here
        data = self._file.read(max(0, min(size, self.size - here)))
        for offset, right in self._corrections:
            at = offset - here
            if -len(right) < at < len(data):
                data = _laid_over(data, right, at)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As a file does."""
        self._jumps += 1
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self.tell(), os.SEEK_END: self.size}[whence]
        return self._file.seek(self._start + origin + offset) - self._start

    def tell(self) -> int:
        """As a file does."""
        return self._file.tell() - self._start

    def peek(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes at `offset`."""
        self.seek(offset)
        return self.read(size)

    def close(self) -> None:
        """Close the file, unless the caller opened it."""
        if self._owned:
            self._file.close()


def _laid_over(data: bytes, other: bytes, at: int) -> bytes:
    """`data` with `other` over it from `at` on, which may be before its beginning; its length stays."""
    laid = bytearray(data)
    for index, byte in enumerate(other, at):
        if 0 <= index < len(laid):
            laid[index] = byte
    return bytes(laid)
