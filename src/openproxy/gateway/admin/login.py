"""/api/auth: the dashboard's login (contracts/gateway.md, section 1.8, decision 20).

Wrong passwords are counted for each client address, in the database, so that several processes count together. An
attempt is counted before its password is checked and taken back when it was right: no number of attempts side by side
gets more guesses than the limit has.
"""

import asyncio
from typing import Annotated, Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from openproxy.gateway.admin import sessions
from openproxy.gateway.admin.access import Opened, Tier, has_session, router
from openproxy.gateway.admin.answers import KeyProblem, Problem, documented, json_answer
from openproxy.gateway.admin.shapes import Asked, Told
from openproxy.store import Store
from openproxy.store.password import LONGEST

_ROOT = "/api/auth"
_HINT = "Run `openproxy auth reset-password --show` on the server's machine."
_SHORTEST = 8

public = router(Tier.PUBLIC, "login")
routes = router(Tier.ADMIN, "login")


class Login(Asked):
    """Who knows the password is let in."""

    password: Annotated[str, Field(max_length=LONGEST, json_schema_extra={"format": "password", "writeOnly": True})]


class NewPassword(Asked):
    """The password, and what it is to become."""

    current_password: Annotated[
        str | None,
        Field(
            max_length=LONGEST,
            description="Not asked for while none is set.",
            json_schema_extra={"format": "password", "writeOnly": True},
        ),
    ] = None
    new_password: Annotated[
        str,
        Field(min_length=_SHORTEST, max_length=LONGEST, json_schema_extra={"format": "password", "writeOnly": True}),
    ]


class LoggedIn(Told):
    """The session's cookie comes with this."""

    success: bool = True
    must_change_password: bool


class Success(Told):
    """Done."""

    success: bool = True


class Status(Told):
    """What a login page needs to know."""

    require_login: bool
    authenticated: Annotated[bool, Field(description="Whether this request carries a running session.")]
    has_password: bool


class WrongPassword(Told):
    """The password is wrong."""

    error: str
    reset_hint: str


class Locked(Told):
    """Too many wrong passwords."""

    error: str
    retry_after_secs: Annotated[int, Field(serialization_alias="retry_after_secs")]
    retry_after: int
    reset_hint: str


_REFUSALS = {
    **documented(400, 403, 413, 415),
    401: {"description": "The password is wrong.", "model": WrongPassword},
    429: {"description": "Too many wrong passwords.", "model": Locked},
}


@public.post(_ROOT + "/login", response_model=LoggedIn, responses=_REFUSALS)
async def login(body: Login, request: Request, store: Opened) -> Response:
    """Begin a session of 24 hours."""
    refused = await _refusal(request, store, body.password)
    if refused is not None:
        return refused
    told = LoggedIn(must_change_password=await store.password.must_change())
    return await _with_session(request, store, told)


@public.post(_ROOT + "/logout", response_model=Success, responses=documented(403))
async def logout(request: Request) -> Response:
    """End the session of this browser."""
    response = json_answer(Success().model_dump(by_alias=True), 200)
    sessions.drop(response, secure=request.url.scheme == "https")
    return response


@public.get(_ROOT + "/status")
async def status(request: Request, store: Opened) -> Status:
    """Whether a login is needed, and whether there is one."""
    return Status(
        require_login=(await store.snapshot()).settings.require_login,
        authenticated=await has_session(request),
        has_password=await store.password.is_set(),
    )


_NOT_IN: dict[int | str, dict[str, Any]] = {
    401: {"description": "Not let in, or a wrong password.", "model": KeyProblem | WrongPassword | Problem}
}


@routes.post(_ROOT + "/password", response_model=Success, responses=_REFUSALS | _NOT_IN)
async def change_password(body: NewPassword, request: Request, store: Opened) -> Response:
    """Change the password: every session ends, and this browser gets a new one."""
    if await store.password.is_set():
        refused = await _refusal(request, store, body.current_password or "")
        if refused is not None:
            return refused
    await store.password.set(body.new_password)
    return await _with_session(request, store, Success())


async def _refusal(request: Request, store: Store, password: str) -> Response | None:
    """The answer where the password is wrong or the client has to wait; None where it is right."""
    client = request.client.host if request.client is not None else "unknown"
    seconds = await store.attempts.begin(client)
    if seconds > 0:
        message = f"Too many failed attempts. Try again in {seconds}s."
        locked = Locked(error=message, retry_after_secs=seconds, retry_after=seconds, reset_hint=_HINT)
        return json_answer(locked.model_dump(by_alias=True), 429, {"retry-after": str(seconds)})
    checks: asyncio.Semaphore = request.app.state.password_checks
    async with checks:
        right = await _is_right(request, store, password)
    if not right:
        told = WrongPassword(error="Invalid password", reset_hint=_HINT)
        return json_answer(told.model_dump(by_alias=True), 401)
    await store.attempts.succeeded(client)
    return None


async def _is_right(request: Request, store: Store, password: str) -> bool:
    initial: str | None = request.app.state.initial_password
    if initial:
        await store.password.ensure(initial)
    return await store.password.verify(password)


async def _with_session(request: Request, store: Store, told: Told) -> Response:
    response = json_answer(told.model_dump(by_alias=True), 200)
    token = sessions.issue(await store.sessions.secret())
    sessions.put(response, token, secure=request.url.scheme == "https")
    return response
