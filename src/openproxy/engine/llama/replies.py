"""Answers as llama-server writes them: the done object, the error envelopes with their key orders, the headers.

Source: contracts/engine.md, sections 7 and 9, decisions 5 and 14.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from openproxy.engine.llama.access import Cors
from openproxy.errors import (
    AudioUnreadable,
    BadRequest,
    Busy,
    ContextExceeded,
    Loading,
    NotFound,
    NotSupported,
    OpenProxyError,
    TimedOut,
    Unauthorized,
    Unavailable,
)
from openproxy.transcript import Transcript, Usage
from openproxy.web.sse import compact

JSON = "application/json; charset=utf-8"

RETRY_AFTER = 1
"""Seconds that a client is asked to wait when every slot is busy and nothing better is known."""


_UNROUTED = frozenset({"TRACE", "CONNECT"})


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer without what depends on the connection; see `headers`."""

    status: int
    body: bytes
    content_type: str | None = JSON
    headers: tuple[tuple[str, str], ...] = ()
    """Beyond Server, Connection, CORS, Content-Type and Content-Length."""


def done_object(text: str, usage: Usage | None) -> dict[str, Any]:
    """The `transcript.text.done` object, keys in their order; a count that is not known is 0."""
    counts = usage or Usage()
    read, written = counts.input_tokens or 0, counts.output_tokens or 0
    return {
        "type": "transcript.text.done",
        "text": text,
        "usage": {
            "type": "tokens",
            "input_tokens": read,
            "output_tokens": written,
            "total_tokens": read + written,
            "input_tokens_details": {"cached_tokens": counts.cached_tokens},
        },
    }


def transcription(transcript: Transcript) -> Reply:
    """The answer to a request without `stream`."""
    return Reply(200, compact(done_object(transcript.text, transcript.usage)))


def failure(error: OpenProxyError) -> Reply:
    """The answer for an error, before or instead of a transcription."""
    retry = error.retry_after if error.retry_after is not None else RETRY_AFTER if isinstance(error, Busy) else None
    headers = () if retry is None else (("Retry-After", str(retry)),)
    return Reply(error.status, compact({"error": error_object(error)}), headers=headers)


def error_object(error: OpenProxyError) -> dict[str, Any]:
    """`code`, `message`, `type`, or `message`, `type`, `code` for what llama-server's HTTP layer answers itself."""
    message, kind = _words(error)
    if isinstance(error, Unauthorized | NotFound | Loading):
        return {"message": message, "type": kind, "code": error.status}
    if isinstance(error, ContextExceeded):
        sizes = {"n_prompt_tokens": error.prompt_tokens, "n_ctx": error.context_tokens}
        return {"code": error.status, "message": message, "type": kind, **sizes}
    return {"code": error.status, "message": message, "type": kind}


def no_audio_input() -> NotSupported:
    """For a model without audio (section 2, step 7)."""
    return NotSupported("The current model does not support audio input.")


def no_route(method: str) -> OpenProxyError:
    """For an unknown path or another method than the route's: 404, but 400 for methods that llama-server never routes."""
    if method in _UNROUTED:
        return BadRequest(f"The method {method} is not supported", code="unsupported_method")
    return NotFound("File Not Found")


def preflight() -> Reply:
    """The answer to OPTIONS on any path; `headers` adds what it allows."""
    return Reply(200, b"", "text/html")


def headers(
    reply: Reply, *, origin: str | None, cors: Cors, keep_alive: bool, options: bool = False
) -> list[tuple[str, str]]:
    """All headers but Content-Length. `keep_alive`: whether the client lets the connection be used again."""
    again = keep_alive and reply.status < 400
    return [
        ("Server", "llama.cpp"),
        *(cors.preflight_headers(origin) if options else cors.headers(origin)),
        *([] if reply.content_type is None else [("Content-Type", reply.content_type)]),
        ("Keep-Alive", "timeout=5, max=100") if again else ("Connection", "close"),
        *reply.headers,
    ]


def wants_keep_alive(connection: str | None) -> bool:
    """Whether a request's Connection header, of HTTP/1.1, lets the connection be used again."""
    return "close" not in _tokens(connection or "")


def _tokens(value: str) -> Iterable[str]:
    return {token.strip().lower() for token in value.split(",")}


def _words(error: OpenProxyError) -> tuple[str, str]:
    """Message and type; the messages that clients know by heart are llama-server's own."""
    match error:
        case AudioUnreadable():
            return "Failed to load image or audio file", error.type
        case Unauthorized():
            return "Invalid API Key", error.type
        case Loading():
            return "Loading model", "unavailable_error"
        case Busy():
            return "All slots are busy. Please try again later.", "server_busy"
        case TimedOut():
            return "Audio request timed out. Please try again later.", "server_timeout"
        case Unavailable():
            return error.message, "unavailable_error"
        case _:
            return error.message, error.type
