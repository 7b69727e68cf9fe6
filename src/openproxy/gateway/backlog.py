"""Pieces of an upload that nobody has taken yet, in the order of their coming: in memory, and beyond a size on disk."""

import tempfile
from collections import deque
from pathlib import Path
from typing import BinaryIO

from openproxy.upload import CHUNK_BYTES, MEMORY_BYTES


class Backlog:
    """A queue of bytes. Its file has no name, so that nothing is left of it whatever happens."""

    def __init__(self, folder: Path | None = None):
        self.memory: deque[bytes] = deque()
        """The oldest pieces: all of them, while there is no file."""
        self._folder = folder
        self._size = 0
        self._file: BinaryIO | None = None
        self._written = 0
        self._read = 0

    def __bool__(self) -> bool:
        return bool(self.memory) or self._read < self._written

    def append(self, piece: bytes) -> None:
        """Add a piece behind the others. Raises OSError where the disk is full."""
        if self._read == self._written and self._size + len(piece) <= MEMORY_BYTES:
            self.memory.append(piece)
            self._size += len(piece)
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115 - closed by close()
        self._file.seek(self._written)
        self._file.write(piece)
        self._written += len(piece)

    def popleft(self) -> bytes:
        """Take the oldest bytes; pieces that lay on disk come in other sizes than they had. Raises IndexError."""
        if self.memory:
            piece = self.memory.popleft()
            self._size -= len(piece)
            return piece
        if self._file is None or self._read == self._written:
            raise IndexError("an empty backlog")
        self._file.seek(self._read)
        piece = self._file.read(min(CHUNK_BYTES, self._written - self._read))
        self._read += len(piece)
        if self._read == self._written:
            self._file.truncate(0)
            self._read = self._written = 0
        return piece

    def close(self) -> None:
        """Delete it."""
        self.memory.clear()
        self._size = self._read = self._written = 0
        if self._file is not None:
            self._file.close()
            self._file = None
