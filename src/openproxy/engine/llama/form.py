"""A request's body as llama-server sees it: an object of strings, and the file part named `file`.

Source: contracts/engine.md, section 3 and decisions 5 and 8. The errors raised here come before every look at a field.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from openproxy.engine.llama.json_syntax import syntax_error
from openproxy.errors import BadRequest, UnsupportedEncoding
from openproxy.upload import Upload
from openproxy.web import multipart_body
from openproxy.web.body import limited, too_large

BODY_BYTES = 104_857_600
"""Of a whole request (section 3.2)."""
JSON_BYTES = 1_048_576
"""Of a body that is no form: it can never carry a file, so that more of it is not worth checking."""

Value = str | list[str]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one form may hold (decision 8); None is no limit."""

    parts: int | None = 32
    """Parts, fields and files together."""
    part_bytes: int | None = 26_214_400
    """Bytes of one part."""
    body_bytes: int | None = BODY_BYTES
    """Bytes of the whole body."""


@dataclass(slots=True)
class Form:
    """What a request said; owns the upload."""

    fields: dict[str, Value] = field(default_factory=dict)
    """Text fields in form order; a repeated one is the list of its values."""
    file: Upload | None = None
    """The last file part named `file`."""
    json_error: str | None = None
    """Of a body that is neither a form nor JSON: what to answer once the model is known to take audio."""

    def close(self) -> None:
        """Delete the upload."""
        if self.file is not None:
            self.file.close()


async def read(
    chunks: AsyncIterator[bytes],
    content_type: str | None,
    *,
    content_encoding: str | None = None,
    declared: int | None = None,
    limits: Limits = Limits(),
    folder: Path | None = None,
) -> Form:
    """Read the body; `declared` is its Content-Length, `folder` where a large upload is kept.

    Raises BadRequest (malformed, too many parts, part too large, invalid UTF-8), UploadTooLarge and
    UnsupportedEncoding; what `chunks` raises passes through. Nothing is left on disk in any of these cases.
    """
    if content_encoding and content_encoding.strip().lower() != "identity":
        raise UnsupportedEncoding(f"Content-Encoding '{_shown(content_encoding)}' is not supported")
    if multipart_body.media_type(content_type or "") != "multipart/form-data":
        return await _read_json(chunks, limits, declared)
    return await _read_multipart(chunks, content_type or "", limits, declared, folder)


async def _read_multipart(
    chunks: AsyncIterator[bytes], content_type: str, limits: Limits, declared: int | None, folder: Path | None
) -> Form:
    bounds = multipart_body.Limits(limits.parts, limits.part_bytes, limits.body_bytes, field_bytes=None)
    try:
        boundary = multipart_body.boundary_of(content_type)
        if declared is None:
            first = await _first(chunks)
            if first is None:
                return Form()  # without a length there is no body, and its form is empty (section 3.1)
            chunks = _joined(first, chunks)
        body = await multipart_body.read(chunks, boundary, bounds, declared=declared, folder=folder)
    except BadRequest as error:
        if error.code != "invalid_multipart":
            raise
        raise _malformed(error.message) from None
    return _form(body)


def _form(body: multipart_body.Form) -> Form:
    form = Form()
    try:
        if not body.parts:
            raise _malformed("the form has no parts")
        for part in body.fields:
            _add(form.fields, _text(_raw(part.name)), _text(part.value))
    except BadRequest:
        body.close()
        raise
    for part in body.files:
        if part.upload is not None and part.name == "file":
            form.close()
            form.file = part.upload
        elif part.upload is not None:
            part.upload.close()
    return form


async def _first(chunks: AsyncIterator[bytes]) -> bytes | None:
    """The first chunk that is not empty; None where there is none."""
    async for chunk in chunks:
        if chunk:
            return chunk
    return None


async def _joined(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


async def _read_json(chunks: AsyncIterator[bytes], limits: Limits, declared: int | None) -> Form:
    body = bytearray()
    size = 0
    async for chunk in limited(chunks, limits.body_bytes, declared=declared):
        size += len(chunk)
        body += chunk[: max(0, JSON_BYTES + 1 - len(body))]
    error = await asyncio.to_thread(syntax_error, bytes(body[:JSON_BYTES]), more=size > JSON_BYTES)
    if error is None and size > JSON_BYTES:
        raise too_large(JSON_BYTES)
    return Form(json_error=error)


def _add(fields: dict[str, Value], name: str, value: str) -> None:
    """The duplicate rule of section 3.3: the second value makes a list, later ones are appended."""
    match fields.get(name):
        case None:
            fields[name] = value
        case str(first):
            fields[name] = [first, value]
        case several:
            several.append(value)


def _raw(name: str | None) -> bytes:
    return (name or "").encode("utf-8", "surrogateescape")


def _text(raw: bytes) -> str:
    """Raises BadRequest with the position of the byte at which the text stops being UTF-8 (section 3.4)."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest(_utf8_message(raw, error), code="invalid_utf8") from None


def _utf8_message(raw: bytes, error: UnicodeDecodeError) -> str:
    """As nlohmann words it: the offending byte, or that the text ends inside a sequence."""
    if error.end == len(raw) and error.reason == "unexpected end of data":
        return f"[json.exception.type_error.316] incomplete UTF-8 string; last byte: 0x{raw[-1]:02X}"
    at = error.end if error.reason == "invalid continuation byte" else error.start
    return f"[json.exception.type_error.316] invalid UTF-8 byte at index {at}: 0x{raw[at]:02X}"


def _malformed(reason: str) -> BadRequest:
    return BadRequest(f"invalid multipart form-data: {reason}", code="invalid_multipart")


def _shown(value: str) -> str:
    return value.encode("ascii", "replace").decode()[:40]
