"""Answers that both servers give in the same way: the error envelope, the request id, CORS, headers in ASCII.

Source: contracts/gateway.md, decisions 1 to 3 and sections 1.2 and 1.4.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from starlette.responses import Response

from openproxy.errors import OpenProxyError
from openproxy.web.sse import compact

REQUEST_ID = "x-request-id"

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

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "authentication_error",
    404: "not_found_error",
    408: "timeout_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
    504: "timeout_error",
}


def error_type(status: int) -> str:
    """The `type` of an error, a function of its status alone."""
    return _TYPES.get(status, "server_error" if status >= 500 else "api_error")


def envelope(message: str, status: int, *, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """The error object that OpenAI's clients read."""
    return {"error": {"message": message, "type": error_type(status), "param": param, "code": code}}


def json_response(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Compact JSON in UTF-8, with CORS."""
    return Response(compact(data), status, {**CORS, **(headers or {})}, "application/json")


def error_response(error: OpenProxyError, headers: Mapping[str, str] | None = None) -> Response:
    """The answer for an error, with `Retry-After` where it says when to come again."""
    body = envelope(error.message, error.status, param=error.param, code=error.code)
    retry = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
    return json_response(body, error.status, {**retry, **(headers or {})})


def preflight_response() -> Response:
    """The answer to OPTIONS on any path: 200 before any look at a key."""
    return Response(b"", 200, dict(PREFLIGHT))


def new_request_id() -> str:
    """A name for one request, for its answer and its log lines."""
    return f"req_{uuid4().hex}"


def header_value(text: str) -> str:
    """Text for a header: what is not printable ASCII is percent-encoded in UTF-8, so that no name can break an answer."""
    if text.isascii() and text.isprintable():
        return text
    return quote(text, safe="".join(map(chr, range(0x20, 0x7F))).replace("%", "") + "%", errors="replace")
