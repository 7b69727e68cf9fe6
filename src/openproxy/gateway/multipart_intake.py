"""The form of the OpenAI SDKs: fields before the file let it be sent on while it arrives, else it goes to a spool."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from starlette.requests import ClientDisconnect

from openproxy.errors import BadRequest, OpenProxyError
from openproxy.gateway import form_fields
from openproxy.gateway.asked import Asked, Superseded
from openproxy.gateway.backlog import Backlog
from openproxy.gateway.exchange import Exchange
from openproxy.media_types import DEFAULT_NAME
from openproxy.upload import Field, Kept, Upload
from openproxy.web import multipart_body
from openproxy.web.multipart_body import PartBegin, PartData, PartEnd

_FILE = "file"
_HELD_UP_SECONDS = 0.5
"""After so long in which a provider has taken nothing, the client is read from all the same."""


class MultipartIntake:
    """See `Intake`.

    A piece of the file goes to `_waiting` while it may still be sent on as it comes, to `_upload` where it is kept. Once
    `live` has been called, the fields that follow the file keep their place behind it for every attempt.
    """

    def __init__(self, exchange: Exchange, content_type: str, folder: Path | None):
        self.complete = False
        self.size = 0
        self._exchange = exchange
        self._folder = folder
        self._parser = multipart_body.Parser(_boundary(content_type), multipart_body.Limits(body_bytes=None))
        self._part: PartBegin | None = None
        self._value: bytearray | None = None
        self._value_bytes = 0
        self._model = ""
        self._fields: list[Field] = []
        self._early: int | None = None
        """So many of the fields were known when `live` was called; None where it was not."""
        self._decided = False
        """Whether it is known by now that the recording is sent on as it comes, or that it is not."""
        self._file: PartBegin | None = None
        self._waiting: Backlog | None = None
        self._upload: Upload | None = None
        self._superseded = False
        """Whether another file has begun since `live` was called, which its reader is still to be told."""
        self._turn = asyncio.Lock()
        """Held by whoever reads the body: the provider's side, or the task that reads ahead of it."""
        self._ahead: asyncio.Task[None] | None = None
        self._given: float | None = None
        """Since when the provider has been busy with a piece; None while it waits for one."""
        self._broken: Exception | None = None
        """What reading ahead has raised."""

    async def begin(self) -> None:
        """See `Intake`."""
        while not self.complete and not self._waiting:
            await self._advance()

    def asked(self) -> Asked:
        """See `Intake`."""
        if not self._model:
            raise BadRequest("Missing model", param="model")
        if self._file is None:
            raise BadRequest("Missing required field: file", param="file")
        if self.size == 0:
            raise BadRequest("Audio file is empty", param="file", code="empty_audio")
        name = self._file.filename
        return Asked(
            self._model,
            DEFAULT_NAME if name is None else name,
            self._file.declared,
            form_fields.effective(self._fields[: self._early]),
        )

    def live(self, *, keep: bool) -> "_Live":
        """See `Intake`."""
        self._early, self._decided = len(self._fields), True
        if keep:
            self._keep()
        self._given = time.monotonic()
        self._ahead = asyncio.create_task(self._read_ahead())
        return _Live(self)

    async def finish(self) -> None:
        """See `Intake`."""
        await self._stop_ahead()
        self._decided = True
        if self._upload is None:
            self._keep()
        self._drop_waiting()
        while not self.complete:
            await self._advance()

    def spooled(self) -> Kept:
        """See `Intake`."""
        if self._upload is None:
            raise ValueError("the recording was not kept")
        self._upload.finish()
        return Kept(self._upload.source, self.late())

    def late(self) -> Sequence[Field]:
        """See `Intake`."""
        return () if self._early is None else form_fields.effective(self._fields[self._early :])

    def close(self) -> None:
        """See `Intake`."""
        if self._ahead is not None:
            self._ahead.cancel()
        self._drop_waiting()
        if self._upload is not None:
            self._upload.close()
            self._upload = None

    async def pieces(self) -> AsyncIterator[bytes]:
        """The file's bytes as they come, then the rest of the body."""
        while True:
            while self._waiting:
                piece = self._waiting.popleft()
                self._given = time.monotonic()
                yield piece
                self._given = None
            if self._superseded:
                self._superseded = False
                raise Superseded
            if self._broken is not None:
                raise self._broken
            if self.complete or self._waiting is None:
                return
            async with self._turn:
                if not self._waiting and not self.complete and self._broken is None:
                    await self._advance()

    async def _read_ahead(self) -> None:
        """Read on while the provider takes nothing: a client that goes away is noticed by that alone."""
        try:
            while not self.complete:
                await asyncio.sleep(_HELD_UP_SECONDS)
                while self._given is not None and time.monotonic() - self._given >= _HELD_UP_SECONDS:
                    async with self._turn:
                        if self.complete:
                            return
                        await self._advance()
        except ClientDisconnect:
            self._exchange.abandon()
        except (OpenProxyError, OSError) as error:
            # told to the provider's side when it takes the next piece
            self._broken = error

    async def _stop_ahead(self) -> None:
        """Leave the reading to the caller. Raises what has been found meanwhile."""
        if self._ahead is not None:
            self._ahead.cancel()
            await asyncio.wait({self._ahead})
            self._ahead = None
        if self._broken is not None:
            raise self._broken

    def _drop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.close()
            self._waiting = None

    async def _advance(self) -> None:
        """Read and take in one chunk. Where this is cancelled, nothing of the body is lost."""
        chunk = await self._exchange.chunk()
        try:
            for event in self._parser.feed(chunk):
                match event:
                    case PartData(data):
                        self._take(data)
                    case PartEnd():
                        self._end_part()
                    case PartBegin():
                        self._begin_part(event)
            if self._exchange.body_over:
                self._parser.close()
                self.complete = True
        except BadRequest as error:
            raise self._named(error) from None

    def _begin_part(self, part: PartBegin) -> None:
        self._part, self._value = part, None
        if part.name == _FILE:
            self._begin_file(part)
        elif part.name is not None and part.filename is None:
            self._value = bytearray()

    def _begin_file(self, part: PartBegin) -> None:
        """The last part of this name is the file."""
        if self._early is not None:
            self._superseded = True
        self._file, self.size = part, 0
        if self._upload is not None:
            self._upload.close()
            self._upload = None
        self._drop_waiting()
        if self._model and not self._decided:
            self._waiting = Backlog(self._folder)
        else:
            self._upload = Upload(folder=self._folder)

    def _take(self, data: bytes) -> None:
        if self._value is not None:
            self._value_bytes += len(data)
            if self._value_bytes > form_fields.MOST_BYTES:
                raise form_fields.too_many()
            self._value += data
        elif self._part is not None and self._part is self._file:
            self.size += len(data)
            if self._upload is not None:
                self._upload.write(data)
            if self._waiting is not None:
                self._waiting.append(data)

    def _end_part(self) -> None:
        part, value, self._part, self._value = self._part, self._value, None, None
        if part is None or part.name is None or part is self._file:
            return
        if value is None:
            # a file of another name: its bytes were passed over, its name is told among what is not used
            self._fields.append((part.name, part.filename or part.name))
            return
        text = form_fields.decoded(part.name, bytes(value))
        if part.name != "model":
            self._fields.append((part.name, text))
        elif self._early is None:
            self._model = text
        elif text != self._model:
            raise BadRequest("The form has two different values of model, one of them after the file", param="model")

    def _keep(self) -> None:
        """From here on, and from the file's first byte, keep the recording."""
        self._upload = Upload(folder=self._folder)
        for piece in self._waiting.memory if self._waiting is not None else ():
            self._upload.write(piece)

    def _named(self, error: BadRequest) -> BadRequest:
        """The error in the words of contracts/gateway.md, section 1.4, which tell where in the body it is."""
        if error.code not in ("invalid_multipart", "too_many_parts"):
            return error
        if self._part is None:
            told = "Invalid multipart"
        else:
            told = "Failed reading file field" if self._part is self._file else "Bad field"
        return BadRequest(f"{told}: {error.message}", code=error.code)


class _Live:
    """The file of an intake while it arrives, as a Recording."""

    size = None
    reopenable = False

    def __init__(self, intake: MultipartIntake):
        self._intake = intake

    def chunks(self) -> AsyncIterator[bytes]:
        """The bytes as they come."""
        return self._intake.pieces()

    def late_fields(self) -> Sequence[Field]:
        """The fields that followed the file."""
        return self._intake.late()


def _boundary(content_type: str) -> str:
    try:
        if multipart_body.media_type(content_type).lower() == "multipart/form-data":
            return multipart_body.boundary_of(content_type)
    except BadRequest:
        pass
    raise BadRequest(
        "Invalid multipart body: Invalid `boundary` for `multipart/form-data` request", code="invalid_multipart"
    )
