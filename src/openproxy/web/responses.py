"""Answers that both servers give in the same way: the error envelope, the request id, CORS, headers in ASCII.

Source: contracts/gateway.md, decisions 1 to 3 and sections 1.2 and 1.4.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from openproxy.errors import OpenProxyError, Stalled, type_of

REQUEST_ID = "x-request-id"

_LONGEST_HEADER = 512
"""Characters of a header's value."""

CORS: Mapping[str, str] = {"access-control-allow-origin": "*"}
"""Of every answer."""

PREFLIGHT: Mapping[str, str] = {
    **CORS,
    "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
    "access-control-allow-headers": (
        "Content-Type, Authorization, X-Requested-With, x-api-key, x-goog-api-key, x-9r-cli-token"
    ),
    "access-control-max-age": "86400",
}
"""Of the answer to OPTIONS."""

REQUESTED = "access-control-request-headers"
"""Header of a preflight: what the page wants to send."""

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_KNOWN = frozenset(PREFLIGHT["access-control-allow-headers"].lower().split(", "))


def preflight(requested: str | None) -> Mapping[str, str]:
    """The headers of the answer to OPTIONS: any header may be sent, so that those of the page are named as well."""
    asked = [name.strip() for name in (requested or "").split(",")]
    more = [name for name in dict.fromkeys(asked) if _NAME.fullmatch(name) and name.lower() not in _KNOWN]
    if not more:
        return PREFLIGHT
    allowed = ", ".join((PREFLIGHT["access-control-allow-headers"], *more))
    return {**PREFLIGHT, "access-control-allow-headers": allowed}


def envelope(message: str, status: int, *, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """The error object that OpenAI's clients read."""
    return {"error": {"message": message, "type": type_of(status), "param": param, "code": code}}


def error_headers(error: OpenProxyError) -> dict[str, str]:
    """The headers of an error's answer: when to come again, and that the connection ends where the client fell silent."""
    headers = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
    return {**headers, "connection": "close"} if isinstance(error, Stalled) else headers


def new_request_id() -> str:
    """A name for one request, for its answer and its log lines."""
    return f"req_{uuid4().hex}"


def header_value(text: str) -> str:
    """Text for a header: what is not printable ASCII is percent-encoded in UTF-8, so that no name can break an answer.

    For the same reason a long one is cut off, and ends in `...` then: clients give up on headers of some kilobytes.
    """
    if len(text) > _LONGEST_HEADER:
        text = text[:_LONGEST_HEADER] + "..."
    if text.isascii() and text.isprintable():
        return text
    return quote(text, safe="".join(map(chr, range(0x20, 0x7F))).replace("%", "") + "%", errors="replace")
