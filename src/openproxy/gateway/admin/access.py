"""Who may call which route of /api: the tiers, checked before a byte of the body is read.

A web page of another site can make a browser send requests here. It cannot make it send an API key, so what has one is
let in. Without one, a request that changes something must come from a page of this server: a browser says so in
`Origin` with every such request, and what sends no `Origin` is no browser. Besides, bodies must be declared as JSON,
which a page of another site may not send with a cookie, and the cookie is `SameSite=Lax`.
"""

from collections.abc import Callable, Coroutine
from enum import Enum
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from openproxy.errors import Forbidden, Unauthorized
from openproxy.gateway.admin import bodies, sessions
from openproxy.gateway.admin.answers import KeyProblem, Problem, documented
from openproxy.gateway.auth import presented
from openproxy.gateway.exchange import Exchange
from openproxy.gateway.services import Services
from openproxy.store import Store

EXCHANGE = "openproxy.exchange"
"""Key of the scope that holds the request's Exchange."""
_SAFE = ("GET", "HEAD", "OPTIONS")

SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key."},
    "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "An API key."},
    "session": {"type": "apiKey", "in": "cookie", "name": sessions.COOKIE, "description": "A dashboard session."},
}


class Tier(Enum):
    """Who is let in (contracts/gateway.md, section 1.1)."""

    PUBLIC = "public"
    KEY = "key"
    """A valid API key, whatever the settings."""
    ADMIN = "admin"
    """A valid API key; where none is presented a session, or nothing while `requireLogin` is off."""


_SCHEMES: dict[Tier, tuple[str, ...]] = {
    Tier.PUBLIC: (),
    Tier.KEY: ("bearer", "apiKey"),
    Tier.ADMIN: ("bearer", "apiKey", "session"),
}


def router(tier: Tier, tag: str) -> APIRouter:
    """A router for routes of one tier."""
    responses = documented(408, 503)
    if tier is not Tier.PUBLIC:
        model = KeyProblem if tier is Tier.KEY else KeyProblem | Problem
        responses |= {401: {"description": "No API key and no session, or a wrong one.", "model": model}}
    if tier is Tier.ADMIN:
        responses |= documented(403)

    class Guarded(APIRoute):
        """Lets the request in, then reads its body, then does what a route does."""

        def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any):
            security: dict[str, list[dict[str, list[str]]]] = {"security": [{scheme: []} for scheme in _SCHEMES[tier]]}
            super().__init__(path, endpoint, **{**settings, "openapi_extra": security})

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()
            has_body = self.body_field is not None

            async def guarded(request: Request) -> Response:
                await admit(tier, request)
                return await handle(await _with_body(request) if has_body else request)

            return guarded

    return APIRouter(route_class=Guarded, tags=[tag], responses=responses)


async def admit(tier: Tier, request: Request) -> None:
    """Let the request in, or raise Unauthorized or Forbidden."""
    exchange: Exchange = request.scope[EXCHANGE]
    keyed = bool(presented(exchange))
    if tier is Tier.PUBLIC or not keyed:
        _same_site(request)
    if tier is Tier.PUBLIC:
        return
    services = of(request)
    snapshot = await services.store.snapshot()
    if tier is Tier.KEY:
        services.guard.key(exchange, snapshot)
    elif services.guard.admin(exchange, snapshot) is None:
        await _session(request, services)


async def _with_body(request: Request) -> Request:
    settings = (await of(request).store.snapshot()).settings
    return await bodies.read(request, settings.upload_idle_seconds)


async def has_session(request: Request) -> bool:
    """Whether the request carries the cookie of a running session."""
    token = request.cookies.get(sessions.COOKIE)
    return bool(token) and sessions.valid(token or "", await of(request).store.sessions.secret())


def of(request: Request) -> Services:
    """What the routes share."""
    services: Services = request.app.state.services
    return services


async def _opened(request: Request) -> Store:
    return of(request).store


Opened = Annotated[Store, Depends(_opened)]
"""A route's parameter for the store."""


async def _session(request: Request, services: Services) -> None:
    token = request.cookies.get(sessions.COOKIE)
    if not token:
        raise Unauthorized("Missing auth token", code="no_session")
    if not sessions.valid(token, await services.store.sessions.secret()):
        raise Unauthorized("Invalid auth token", code="invalid_session")


def _same_site(request: Request) -> None:
    """Raise Forbidden for a request that changes something and that a page of another site has made."""
    origin = request.headers.get("origin")
    if request.method in _SAFE or origin is None:
        return
    own = request.headers.get("x-forwarded-host") or request.headers.get("host", "")
    if origin.partition("://")[2].lower() != own.strip().lower():
        raise Forbidden("A page of another site cannot do this without an API key")
