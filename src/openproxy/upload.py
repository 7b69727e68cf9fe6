"""The values that travel from the HTTP side inward: an Upload that can be opened again, and what is asked of it."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from openproxy import spool
from openproxy.transcript import Task

MEMORY_BYTES = 1024 * 1024
"""Up to this size an upload stays in memory; beyond it, in a file of its own (contracts/gateway.md, decision 4)."""

CHUNK_BYTES = 256 * 1024
"""How much of an upload is read from its file at a time."""

_SMALL = 4096
"""Below so many bytes, pieces are gathered rather than kept one by one."""

Field = tuple[str, str]
"""A form field: its name as the client wrote it, and one value."""

LIST_FIELDS = frozenset(
    {
        "timestamp_granularities",
        "include",
        "known_speaker_names",
        "known_speaker_references",
        "languages",
        "keywords",
    }
)
"""Fields of which every value counts, named without `[]` (contracts/gateway.md, decision 9)."""


class Upload:
    """Bytes written once and read as often as needed, each time from the start.

    Written by one side (`write`, then `finish`), read through `open()` or `source`. `close()` deletes it, always.
    """

    def __init__(self, filename: str | None = None, content_type: str | None = None, *, folder: Path | None = None):
        self.filename = filename
        self.content_type = content_type
        self.size = 0
        self._folder = folder
        self._pieces: list[bytes | bytearray] | None = []
        self._memory: bytes | None = None
        self._path: Path | None = None
        self._file: BinaryIO | None = None
        """Stays open, and thereby locked, until it is deleted: see `spool`."""
        self._finished = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append `data`; moves to disk when it outgrows the memory limit. Raises OSError where the disk is full."""
        self.size += len(data)
        if self._pieces is not None:
            _gather(self._pieces, data)
            if self.size > MEMORY_BYTES:
                self._to_disk(self._pieces)
            return
        if self._file is None or self._finished:
            raise ValueError("write to a finished upload")
        self._file.write(data)

    def finish(self) -> None:
        """End the writing side, so that every byte can be read."""
        if self._pieces is not None:
            self._memory, self._pieces = b"".join(self._pieces), None
        self._finished = True
        if self._file is not None:
            self._file.flush()

    @property
    def source(self) -> bytes | Path:
        """Its bytes where they are in memory, else the path of its file: what another process can be handed."""
        if self._memory is not None:
            return self._memory
        if self._path is None or not self._finished:
            raise ValueError("an upload is read after finish() and before close()")
        return self._path

    def open(self) -> BinaryIO:
        """A new reader at the first byte."""
        source = self.source
        return source.open("rb") if isinstance(source, Path) else BytesIO(source)

    def close(self) -> None:
        """Delete it. May be called more than once."""
        self._pieces = self._memory = None
        self._finished = True
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path = None
        if self._file is not None:
            file, self._file = self._file, None
            with suppress(OSError):  # what a full disk did not take
                file.close()

    def __enter__(self) -> "Upload":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _to_disk(self, pieces: Sequence[bytes | bytearray]) -> None:
        self._file, self._path = spool.create(self._folder)
        self._file.writelines(pieces)
        self._pieces = None


def _gather(pieces: list[bytes | bytearray], data: bytes | bytearray | memoryview) -> None:
    """Add `data` without a copy where it is worth an entry of its own: tiny ones would cost more than their content."""
    last = pieces[-1] if pieces else None
    if isinstance(data, bytes) and len(data) >= _SMALL:
        pieces.append(data)
    elif isinstance(last, bytearray):
        last += data
    else:
        pieces.append(bytearray(data))


class Recording(Protocol):
    """The audio of a request as a provider reads it, whether it lies in a spool or is still on its way in."""

    @property
    def size(self) -> int | None:
        """Bytes; None while the end is not known."""

    @property
    def reopenable(self) -> bool:
        """Whether `chunks` may be called again, and then gives the same bytes."""

    def chunks(self) -> AsyncIterator[bytes]:
        """All its bytes from the first one, in pieces of any size. Raises what reading the client's body raises."""

    def late_fields(self) -> Sequence[Field]:
        """The form fields that followed the file in the client's body: complete once `chunks` is used up."""


class Kept:
    """A Recording that is whole, in memory or in a file: its size is known and it can be read as often as needed.

    `late` are the fields that followed the file, where an earlier attempt has sent them behind it as well. Raises OSError
    where there is no such file.
    """

    reopenable = True

    def __init__(self, source: bytes | Path, late: Sequence[Field] = ()):
        self._source = source
        self._late = tuple(late)
        self.size = len(source) if isinstance(source, bytes) else source.stat().st_size
        """Bytes."""

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """What is in memory in one piece; from a file, read off the event loop, pieces of at most CHUNK_BYTES."""
        if isinstance(self._source, bytes):
            if self._source:
                yield self._source
            return
        reader = await asyncio.to_thread(self._source.open, "rb")
        try:
            while piece := await asyncio.to_thread(reader.read, CHUNK_BYTES):
                yield piece
        finally:
            reader.close()

    def late_fields(self) -> Sequence[Field]:
        """Those it was made with."""
        return self._late


@dataclass(frozen=True, slots=True)
class TranscriptionRequest:
    """What is asked of a provider, the same for every attempt."""

    model: str
    """The model's own name, without the provider before it."""
    audio: Recording
    """The recording as the client sent it."""
    filename: str = "audio.wav"
    """The name of the file part; may be empty, may hold any character."""
    content_type: str | None = None
    """The type that the client declared for the file part."""
    fields: tuple[Field, ...] = ()
    """Every other form field in the order received, one entry a value; names with or without `[]`."""
    task: Task = "transcribe"
    """Whether the text or its English translation is wanted."""
    rendered: bool = False
    """Whether the answer must be a Transcript, from which the gateway makes the format asked for."""
    boundary: str = field(default_factory=lambda: secrets.token_hex(16))
    """Parts the multipart body upstream: one for all attempts, so that they carry identical bytes."""

    def value(self, name: str) -> str | None:
        """The field's last value without white space around it; None where it is absent or blank."""
        values = [value.strip() for key, value in self.fields if key == name]
        return values[-1] or None if values else None

    def values(self, name: str) -> tuple[str, ...]:
        """Every value of a repeated field, whether its name was written plain, with `[]`, or numbered (`[0]`)."""
        return tuple(value for key, value in self.fields if key.partition("[")[0] == name and value.strip())

    def says(self, name: str) -> bool:
        """Whether the field is `true` or `1`."""
        return (self.value(name) or "").lower() in ("true", "1")


@dataclass(frozen=True, slots=True)
class Connection:
    """An account at a provider. Its secret and its address never show in a repr."""

    id: str
    """The stored connection's id; what a log line may name."""
    provider: str
    """The provider's canonical id."""
    secret: str = field(repr=False)
    """The credential as the vendor issued it."""
    base_url: str | None = field(default=None, repr=False)
    """Address to use instead of the provider's own; None or blank for the provider's own."""
    auth_scheme: str | None = None
    """How the secret is presented, where that differs from the catalogue (contracts/gateway.md, decision 10)."""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The connection's further settings (`providerSpecificData`), such as `pollTimeoutSeconds`."""
