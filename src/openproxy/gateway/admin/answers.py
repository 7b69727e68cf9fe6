"""Errors as /api answers them, and how its OpenAPI document describes them.

A failure of an API key is the envelope of `/v1`; every other error is `{"error": "<message>"}`. What the routes below
/api/providers themselves refuse begins with `"success": false` (contracts/gateway.md, sections 1.1 and 1.5, decision 1).
"""

from collections.abc import Iterable
from typing import Any, Literal

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from openproxy.errors import OpenProxyError, SecretUnreadable, Unauthorized
from openproxy.gateway.admin.wording import sentence
from openproxy.web.responses import envelope, error_headers
from openproxy.web.sse import compact

_WITH_SUCCESS = "/api/providers"
_REFUSED = (400, 404, 409)


class Problem(BaseModel):
    """What went wrong."""

    error: str


class FailedConnection(BaseModel):
    """What went wrong with a connection."""

    success: Literal[False]
    error: str


class KeyFault(BaseModel):
    """What is wrong with the API key."""

    message: str
    type: str
    param: str | None
    code: str | None


class KeyProblem(BaseModel):
    """The API key is missing, wrong or inactive."""

    error: KeyFault


_DESCRIPTIONS = {
    400: "The body or a parameter is wrong; `error` says which and why.",
    401: "No API key and no session, or a wrong one.",
    403: "A web page of another site asked, with nothing but the user's session.",
    404: "There is nothing of that id.",
    408: "The client has stopped sending in the middle of its body.",
    409: "It does not go together with what is stored.",
    413: "The body is too large.",
    415: "The body is not JSON, or compressed.",
    429: "Too many wrong passwords.",
    503: "The database cannot be used now.",
}


def documented(*statuses: int, model: type[BaseModel] = Problem) -> dict[int | str, dict[str, Any]]:
    """`responses` of a route: each of these errors with the shape of its body."""
    return {status: {"description": _DESCRIPTIONS[status], "model": model} for status in statuses}


def json_answer(data: dict[str, Any], status: int, headers: dict[str, str] | None = None) -> Response:
    """Compact JSON."""
    return Response(compact(data), status, headers, "application/json")


def problem(request: Request, message: str, status: int, headers: dict[str, str] | None = None) -> Response:
    """An error of /api."""
    here = f"{request.scope['path']}/".startswith(f"{_WITH_SUCCESS}/")
    named = {"success": False} if here and status in _REFUSED else {}
    return json_answer({**named, "error": message}, status, headers)


async def on_error(request: Request, error: OpenProxyError) -> Response:
    """The answer for an error of this project."""
    if isinstance(error, SecretUnreadable):
        # about what is stored, not about who asks
        return problem(request, error.message, 409)
    if isinstance(error, Unauthorized) and error.code == Unauthorized.default_code:
        return json_answer(envelope(error.message, error.status, code=error.code), error.status)
    return problem(request, error.message, error.status, error_headers(error))


async def on_invalid(request: Request, error: RequestValidationError) -> Response:
    """The answer for a body or a parameter that its model refuses."""
    return problem(request, sentence(error.errors()), 400)


def no_route(request: Request) -> Response:
    """The answer where there is no such path."""
    return json_answer({"error": f"There is no route {request.method} {request.url.path}"}, 404)


def no_method(request: Request, allowed: Iterable[str]) -> Response:
    """The answer where the path is there for other methods."""
    methods = ", ".join(sorted(allowed))
    message = f"Method {request.method} is not allowed here; use {methods}"
    return json_answer({"error": message}, 405, {"allow": methods})


async def on_fault(request: Request, _error: Exception) -> Response:
    """The answer for what should not happen; the gateway logs it."""
    return problem(request, "Internal error; the server's log tells more", 500)
