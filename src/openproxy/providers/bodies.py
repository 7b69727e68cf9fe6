"""Request bodies that are written while the recording is read: raw, multipart, or JSON with base64 inside.

None is ever held in memory as a whole, and each can be written again for another attempt where its recording can be
read again; then both attempts carry identical bytes.
"""

import base64
import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from openproxy.media_types import FilePart
from openproxy.upload import Field, Recording

_ONE_PIECE = 64 * 1024
"""Bytes up to which a form is sent in one piece: three writes would cost more than the copy."""


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent: `chunks()` begins it anew."""

    content_type: str
    chunks: Callable[[], AsyncIterator[bytes]]
    size: int | None
    """Bytes; None sends it chunked."""
    reopenable: bool = True
    """Whether `chunks` may be called more than once."""


def raw(audio: Recording, content_type: str) -> Body:
    """The recording as it is."""
    return Body(content_type, audio.chunks, audio.size, audio.reopenable)


def json_value(value: Any) -> Body:
    """A JSON document."""
    data = json.dumps(value, separators=(",", ":")).encode()

    async def chunks() -> AsyncIterator[bytes]:
        yield data

    return Body("application/json", chunks, len(data))


def json_with_audio(build: Callable[[str], Any], audio: Recording) -> Body:
    """A JSON document that holds the recording in standard base64; `build` is given the string that stands for it."""
    mark = secrets.token_hex(16)
    before, _, after = json.dumps(build(mark), separators=(",", ":")).partition(mark)
    head, tail = before.encode(), after.encode()

    async def chunks() -> AsyncIterator[bytes]:
        yield head
        async for piece in _base64(audio.chunks()):
            yield piece
        yield tail

    size = None if audio.size is None else len(head) + 4 * -(-audio.size // 3) + len(tail)
    return Body("application/json", chunks, size, audio.reopenable)


async def _base64(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Base64 of a stream: of each chunk what fills whole groups of three bytes, the rest goes before the next."""
    rest = b""
    async for chunk in chunks:
        data = rest + chunk if rest else chunk
        whole = len(data) - len(data) % 3
        rest = data[whole:]
        if whole:
            yield base64.b64encode(memoryview(data)[:whole])
    if rest:
        yield base64.b64encode(rest)


def multipart(
    boundary: str,
    part: FilePart,
    audio: Recording,
    fields: Iterable[Field],
    late_fields: Callable[[], Iterable[Field]],
) -> Body:
    """multipart/form-data: the file first, then `fields`, then what `late_fields` gives once the recording is read.

    Its length is known where the recording can be opened again: then the late fields are there from the beginning.
    """
    dash = b"--" + boundary.encode()
    head = (
        dash
        + f'\r\nContent-Disposition: form-data; name="file"; filename="{part.filename}"\r\n'.encode()
        + f"Content-Type: {part.content_type}\r\n\r\n".encode()
    )
    middle = b"\r\n" + b"".join(_field(dash, field) for field in fields)

    def tail() -> bytes:
        return middle + b"".join(_field(dash, field) for field in late_fields()) + dash + b"--\r\n"

    async def chunks() -> AsyncIterator[bytes]:
        if size is not None and size <= _ONE_PIECE:
            yield b"".join([head, *[chunk async for chunk in audio.chunks()], tail()])
            return
        yield head
        async for chunk in audio.chunks():
            yield chunk
        yield tail()

    size = len(head) + audio.size + len(tail()) if audio.size is not None and audio.reopenable else None
    return Body(f"multipart/form-data; boundary={boundary}", chunks, size, audio.reopenable)


def _field(dash: bytes, field: Field) -> bytes:
    name, value = field
    # as browsers write a name, so that it cannot end its header (https://html.spec.whatwg.org, multipart/form-data)
    name = name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    return dash + f'\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode("utf-8", "replace")
