"""The values that travel from the HTTP side inward: an Upload that can be opened again, and what is asked of it."""

import os
import tempfile
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

MEMORY_BYTES = 1024 * 1024
"""Up to this size an upload stays in memory; beyond it, in a file of its own (contracts/gateway.md, decision 4)."""


class Upload:
    """Bytes written once and read as often as needed, each time from the start.

    Written by one side (`write`, then `finish`), read through `open()` or `source`. `close()` deletes it, always.
    """

    def __init__(self, filename: str | None = None, content_type: str | None = None, *, folder: Path | None = None):
        self.filename = filename
        self.content_type = content_type
        self.size = 0
        self._folder = folder
        self._memory: bytes | bytearray | None = bytearray()
        self._path: Path | None = None
        self._file: BinaryIO | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append `data`; moves to disk when it outgrows the memory limit. Raises OSError where the disk is full."""
        self.size += len(data)
        if isinstance(self._memory, bytearray):
            self._memory += data
            if self.size > MEMORY_BYTES:
                self._to_disk()
            return
        if self._file is None:
            raise ValueError("write to a finished upload")
        self._file.write(data)

    def finish(self) -> None:
        """End the writing side, so that every byte can be read."""
        if isinstance(self._memory, bytearray):
            self._memory = bytes(self._memory)
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def source(self) -> bytes | Path:
        """Its bytes where they are in memory, else the path of its file: what another process can be handed."""
        if isinstance(self._memory, bytes):
            return self._memory
        if self._path is None or self._file is not None:
            raise ValueError("an upload is read after finish() and before close()")
        return self._path

    def open(self) -> BinaryIO:
        """A new reader at the first byte."""
        source = self.source
        return source.open("rb") if isinstance(source, Path) else BytesIO(source)

    def close(self) -> None:
        """Delete it. May be called more than once."""
        self.finish()
        self._memory = None
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path = None

    def __enter__(self) -> "Upload":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _to_disk(self) -> None:
        handle, name = tempfile.mkstemp(prefix="openproxy-upload-", dir=self._folder)
        self._path = Path(name)
        self._file = os.fdopen(handle, "wb")
        self._file.write(self._memory or b"")
        self._memory = None
