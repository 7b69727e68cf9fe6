"""multipart/form-data read while it arrives: as events that can be forwarded, or gathered into fields and uploads."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from urllib.parse import unquote_to_bytes

from multipart import (
    MultipartError,
    MultipartSegment,
    ParserError,
    ParserLimitReached,
    PushMultipartParser,
    content_disposition_unquote,
)

from openproxy.errors import BadRequest
from openproxy.upload import Upload
from openproxy.web.body import limited

HEADER_BYTES = 8192
"""Of one header line of a part (contracts/engine.md, section 3.2)."""
HEADERS = 100
"""Of one part."""
PARAMETERS = 16
"""Read of one header; the rest is ignored."""

_PARAMETER = re.compile(r';\s*([^=;\s]+)\s*=\s*("(?:\\.|[^\\])*?"(?=\s*(?:;|$))|[^;]*)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one form may hold; None is no limit."""

    parts: int | None = 1000
    """Parts, fields and files together."""
    part_bytes: int | None = None
    """Bytes of one part."""
    body_bytes: int | None = 209_715_200
    """Bytes of the whole body, boundaries and headers included."""
    field_bytes: int | None = 8_388_608
    """Bytes of one field that `read` keeps in memory."""


@dataclass(frozen=True, slots=True)
class PartBegin:
    """The header of a part."""

    name: str | None
    """None where the part has no Content-Disposition. Bytes that are not UTF-8 stand as surrogate escapes."""
    filename: str | None
    """None where no filename was given; "" where an empty one was."""
    content_type: str | None
    """Declared media type in lower case, without parameters."""
    charset: str | None
    """Declared charset."""
    declared: str | None = field(default=None, compare=False)
    """The Content-Type as it was written, with the parameters that `content_type` leaves out."""


@dataclass(frozen=True, slots=True)
class PartData:
    """Bytes of the part that was begun last."""

    data: bytes


@dataclass(frozen=True, slots=True)
class PartEnd:
    """The part that was begun last is complete."""

    size: int
    """Bytes of its content."""


Event = PartBegin | PartData | PartEnd


@dataclass(frozen=True, slots=True)
class Part:
    """A whole part: a field's bytes, or a file's upload."""

    name: str | None
    filename: str | None
    content_type: str | None
    charset: str | None
    value: bytes = b""
    """The content of a field; empty for a file."""
    upload: Upload | None = None
    """The content of a file; None for a field."""


@dataclass(slots=True)
class Form:
    """The parts in the order in which they came; owns the uploads."""

    parts: list[Part] = field(default_factory=list)

    @property
    def fields(self) -> list[Part]:
        """The parts without a file."""
        return [part for part in self.parts if part.upload is None]

    @property
    def files(self) -> list[Part]:
        """The parts with a file."""
        return [part for part in self.parts if part.upload is not None]

    def close(self) -> None:
        """Delete every upload."""
        for part in self.parts:
            if part.upload is not None:
                part.upload.close()


def media_type(content_type: str) -> str:
    """`multipart/form-data` of `multipart/form-data; boundary=x`, as it was written."""
    return content_type.partition(";")[0].strip()


def boundary_of(content_type: str) -> str:
    """The boundary of a multipart Content-Type, quoted or not. Raises BadRequest where it is missing or empty."""
    boundary = _parameters(content_type).get("boundary", "")
    if not boundary:
        raise BadRequest("the Content-Type has no boundary", param="Content-Type", code="invalid_multipart")
    return boundary


class Parser:
    """The same events for a caller who brings the chunks one by one; nothing is lost where that caller is cancelled.

    Raises BadRequest (`invalid_multipart`, `too_many_parts`, `part_too_large`). `limits.body_bytes` is not looked at.
    """

    def __init__(self, boundary: str, limits: Limits = Limits()):
        self._limits = limits
        self._parser = _parser(boundary, limits)
        self._begun: PartBegin | None = None
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """What `chunk` completes or continues. Use it up before the next one."""
        limit = self._limits.part_bytes
        try:
            for event in self._parser.parse(chunk) if chunk else ():
                if isinstance(event, MultipartSegment):
                    self._begun, self._size = _begin(event), 0
                    yield self._begun
                elif event is not None:
                    self._size += len(event)
                    if limit is None or self._size <= limit:
                        yield PartData(bytes(event))
                else:
                    _check_size(self._begun, self._size, self._limits)
                    yield PartEnd(self._size)
        except ParserLimitReached as error:
            raise _limit_error(error, self._limits) from None
        except MultipartError as error:
            raise BadRequest(_reason(error), code="invalid_multipart") from None

    def close(self) -> None:
        """The body is over. Raises BadRequest where its closing boundary has not come."""
        try:
            self._parser.close()
        except MultipartError as error:
            raise BadRequest(_reason(error), code="invalid_multipart") from None


async def events(
    chunks: AsyncIterator[bytes], boundary: str, limits: Limits = Limits(), *, declared: int | None = None
) -> AsyncIterator[Event]:
    """What the body holds, as it arrives; the chunks are read to their end.

    `declared` is the Content-Length. Raises what Parser raises, and UploadTooLarge; what `chunks` raises, a client
    that went away among it, passes through.
    """
    parser = Parser(boundary, limits)
    async for chunk in limited(chunks, limits.body_bytes, declared=declared):
        for event in parser.feed(chunk):
            yield event
    parser.close()


async def read(
    chunks: AsyncIterator[bytes],
    boundary: str,
    limits: Limits = Limits(),
    *,
    declared: int | None = None,
    folder: Path | None = None,
) -> Form:
    """The whole form. A part with a filename that is not empty is a file, every other one a field.

    `folder` is where large files are kept. Raises what `events` raises, and deletes every file in that case.
    """
    form = Form()
    content = bytearray()
    begun = PartBegin(None, None, None, None)
    upload: Upload | None = None
    try:
        async for event in events(chunks, boundary, limits, declared=declared):
            match event:
                case PartBegin():
                    begun, content = event, bytearray()
                    upload = Upload(event.filename, event.content_type, folder=folder) if event.filename else None
                case PartData(data):
                    if upload is not None:
                        upload.write(data)
                    else:
                        content += data
                        _check_field(begun, len(content), limits)
                case PartEnd():
                    if upload is not None:
                        upload.finish()
                    form.parts.append(_part(begun, bytes(content), upload))
                    upload = None
    except BaseException:
        form.close()
        if upload is not None:
            upload.close()
        raise
    return form


def _part(begun: PartBegin, value: bytes, upload: Upload | None) -> Part:
    return Part(begun.name, begun.filename, begun.content_type, begun.charset, value, upload)


class _Parser(PushMultipartParser):  # type: ignore[misc]  # the library carries no types
    """Reads header bytes as they are, and lets a part without Content-Disposition pass."""

    def _create_segment(self, headerlist: list[tuple[str, str]]) -> MultipartSegment:
        return MultipartSegment(headerlist)


def _parser(boundary: str, limits: Limits) -> _Parser:
    try:
        return _Parser(
            boundary.encode("latin-1", "replace"),
            max_header_size=HEADER_BYTES,
            max_header_count=HEADERS,
            max_segment_count=float("inf") if limits.parts is None else limits.parts,
            header_charset="latin-1",
        )
    except ParserError as error:
        raise BadRequest(_reason(error), param="Content-Type", code="invalid_multipart") from None


def _begin(segment: MultipartSegment) -> PartBegin:
    disposition = segment.header("Content-Disposition")
    if disposition is None or media_type(disposition).lower() != "form-data":
        return PartBegin(None, None, segment.content_type, segment.charset, segment.header("Content-Type"))
    parameters = _parameters(disposition)
    if "name" not in parameters:
        raise BadRequest("a part has no name", code="invalid_multipart")
    filename = parameters.get("filename")
    return PartBegin(
        _utf8(parameters["name"]),
        _extended(parameters["filename*"])
        if "filename*" in parameters
        else None
        if filename is None
        else _utf8(filename),
        segment.content_type,
        segment.charset,
        segment.header("Content-Type"),
    )


def _parameters(header: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in islice(_PARAMETER.findall(header), PARAMETERS):
        found.setdefault(key.lower(), content_disposition_unquote(value.strip(), key.lower() == "filename"))
    return found


def _utf8(text: str) -> str:
    return text.encode("latin-1").decode("utf-8", "surrogateescape")


def _extended(value: str) -> str:
    """`UTF-8''a%20b.wav` (RFC 8187); no other charset is read (contracts/engine.md, section 3.3)."""
    charset, _, rest = value.partition("'")
    if charset.lower() != "utf-8" or "'" not in rest:
        raise BadRequest("filename* of a part is not of the form UTF-8''name", code="invalid_multipart")
    return unquote_to_bytes(rest.partition("'")[2].encode("latin-1")).decode("utf-8", "replace")


def _check_field(begun: PartBegin, size: int, limits: Limits) -> None:
    if limits.field_bytes is not None and size > limits.field_bytes:
        shown = _shown(begun)
        message = f"'{shown}' field is larger than {limits.field_bytes} bytes"
        raise BadRequest(message, param=shown, code="part_too_large")


def _shown(begun: PartBegin | None) -> str:
    name = (begun.name if begun is not None else None) or ""
    return name.encode("utf-8", "replace").decode()


def _check_size(begun: PartBegin | None, size: int, limits: Limits) -> None:
    if limits.part_bytes is not None and size > limits.part_bytes:
        shown = _shown(begun)
        raise BadRequest(
            f"'{shown}' part is {size} bytes, maximum is {limits.part_bytes} bytes", param=shown, code="part_too_large"
        )


def _limit_error(error: ParserLimitReached, limits: Limits) -> BadRequest:
    if "count" in str(error) and "header" not in str(error):
        return BadRequest(f"multipart form has more than {limits.parts} parts", code="too_many_parts")
    return BadRequest(_reason(error), code="invalid_multipart")


def _reason(error: MultipartError) -> str:
    text = str(error.args[0]) if error.args else "malformed"
    return text[:1].lower() + text[1:]
