"""The documents of a chat server's answer: server-sent events, or one JSON object where it does not stream.

Source: html.spec.whatwg.org, server-sent events; OpenAI's chat completions, which put each document on one `data:` line.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any

from openproxy.engine.models.chat import too_deep
from openproxy.errors import UpstreamError
from openproxy.providers.http import Answer

END: dict[str, Any] = {}
"""Given out last where a stream says itself that it is at its end."""
_DONE = b"[DONE]"
_FIELDS = (b"data", b"event", b"id", b"retry", b"error", b":")
"""How a stream of events begins; `error` is of older versions of llama-server."""
_MARK = b"\xef\xbb\xbf"
_HEAD = 16
"""Bytes that tell what an answer is, whatever its Content-Type says."""
_LONGEST_LINE = 16 * 1024 * 1024


async def documents(answer: Answer, idle: float) -> AsyncIterator[dict[str, Any]]:
    """Each document as it arrives, and END. Raises TimeoutError where `idle` seconds pass without a byte.

    UpstreamError: the error that an event holds, and 502 for what is neither events nor JSON.
    """
    kind = (answer.content_type or "").partition(";")[0].strip().lower()
    chunks = _timely(answer, idle)
    head = await _head(chunks)
    if not head.startswith(_FIELDS):
        if "html" in kind or head.startswith(b"<"):
            answer.close()
            raise UpstreamError(502, "The chat server answered with an HTML page; is its URL the one of its API?")
        if "json" in kind or head.startswith((b"{", b"[")):
            yield _checked(json_object(head + b"".join([chunk async for chunk in chunks])))
            return
    events = 0
    async for name, data in _events(_lines(_joined(head, chunks))):
        if data == _DONE:
            answer.close()
            yield END
            return
        events += 1
        document = json_object(data)
        yield _checked({"error": document} if name == b"error" and "error" not in document else document)
    if not events:
        raise UpstreamError(502, "The chat server answered without a stream of events")


def json_object(data: bytes) -> dict[str, Any]:
    """A JSON object. Raises UpstreamError 502 for anything else."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise UpstreamError(502, "The chat server answered something that is not a JSON object")
    if too_deep(document):
        raise UpstreamError(502, "The chat server answered JSON that is nested too deeply")
    return document


def _checked(document: dict[str, Any]) -> dict[str, Any]:
    """The document, unless it is an error (`{"error": ...}`, in vLLM also `{"object": "error", "message": ...}`)."""
    error = document.get("error")
    if error is None and document.get("object") == "error":
        error = document
    if error is None:
        return document
    found: Mapping[str, Any] = error if isinstance(error, dict) else {"message": error}
    code, message = found.get("code"), found.get("message")
    status = code if isinstance(code, int) and 400 <= code <= 599 else 502
    raise UpstreamError(status, message if isinstance(message, str) and message else "The chat server failed")


async def _timely(answer: Answer, idle: float) -> AsyncGenerator[bytes]:
    chunks = aiter(answer)
    while True:
        try:
            async with asyncio.timeout(idle):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        yield chunk


async def _head(chunks: AsyncGenerator[bytes]) -> bytes:
    """The first bytes, without a byte order mark and white space before them."""
    head = b""
    while len(head) < _HEAD and (chunk := await anext(chunks, None)) is not None:
        head = (head + chunk).removeprefix(_MARK).lstrip()
    return head


async def _events(lines: AsyncIterator[bytes]) -> AsyncIterator[tuple[bytes, bytes]]:
    """Name and data of each event; of one without data nothing.

    Data on one line is given out at once where it is a document by itself, as some servers leave out the empty line.
    """
    name, data = b"", list[bytes]()
    async for line in lines:
        if not line:
            if data:
                yield name, b"\n".join(data)
            name, data = b"", []
            continue
        field, _, value = line.partition(b":")
        value = value.strip()
        if field == b"event":
            name = value
        elif field == b"error" and value:
            yield field, value
        elif field == b"data" and (value or data):
            if not data and (value == _DONE or _whole(value)):
                yield name, value
            else:
                data.append(value)


def _whole(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False


async def _joined(head: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield head
    async for chunk in chunks:
        yield chunk


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines without their ends: CR, LF or both.

    What follows the last end of a line is none: a stream that breaks off ends in half of one.
    """
    pending = b""
    async for chunk in chunks:
        pending += chunk
        kept = pending[-1:] if pending.endswith(b"\r") else b""  # LF may follow
        *lines, rest = pending[: len(pending) - len(kept)].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        pending = rest + kept
        for line in lines:
            yield line
        if len(pending) > _LONGEST_LINE:
            raise UpstreamError(502, "The chat server sent an event that is too long")
