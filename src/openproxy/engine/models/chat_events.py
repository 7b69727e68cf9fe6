"""The documents of a chat server's answer: server-sent events, or one JSON object where it does not stream.

Source: html.spec.whatwg.org, server-sent events; OpenAI's chat completions, which put each document on one `data:` line.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from openproxy.engine.models.chat import too_deep
from openproxy.errors import UpstreamError
from openproxy.providers.http import Answer

_DATA = b"data:"
_DONE = b"[DONE]"
_LONGEST_LINE = 16 * 1024 * 1024


async def documents(answer: Answer, idle: float) -> AsyncIterator[dict[str, Any]]:
    """Each document as it arrives. Raises TimeoutError where `idle` seconds pass without a byte.

    UpstreamError: the error that an event holds, and 502 for what is neither events nor JSON.
    """
    kind = (answer.content_type or "").partition(";")[0].strip().lower()
    if "html" in kind:
        answer.close()
        raise UpstreamError(502, "The chat server answered with an HTML page; is its URL the one of its API?")
    if "json" in kind:
        yield _checked(json_object(b"".join([chunk async for chunk in _timely(answer, idle)])))
        return
    events = 0
    async for line in _lines(_timely(answer, idle)):
        if not line.startswith(_DATA):
            continue
        data = line.removeprefix(_DATA).strip()
        if data == _DONE:
            answer.close()
            return
        events += 1
        yield _checked(json_object(data))
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


async def _timely(answer: Answer, idle: float) -> AsyncIterator[bytes]:
    chunks = aiter(answer)
    while True:
        try:
            async with asyncio.timeout(idle):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        yield chunk


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines without their ends. What follows the last end of a line is none: a stream that breaks off ends in half of one."""
    pending = b""
    async for chunk in chunks:
        *lines, pending = (pending + chunk).replace(b"\r\n", b"\n").split(b"\n")
        for line in lines:
            yield line
        if len(pending) > _LONGEST_LINE:
            raise UpstreamError(502, "The chat server sent an event that is too long")
