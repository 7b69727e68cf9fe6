"""The gateway's ASGI application: which request is let in, and which function answers it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from openproxy.errors import NotFound, OpenProxyError, Unavailable
from openproxy.gateway import metrics, models, retention, transcriptions
from openproxy.gateway.auth import Caller
from openproxy.gateway.exchange import CLIENT_GONE, Exchange
from openproxy.gateway.forwarded import resolved
from openproxy.gateway.services import Services, Settings, running
from openproxy.store.snapshot import Snapshot
from openproxy.web.responses import REQUESTED, envelope, preflight

PREFIXES = ("/v1", "/v1/v1", "/openai/v1")
"""Where the OpenAI routes are: clients add `/v1` to a base URL that has it, and Groq's SDK has a path of its own."""

Open = Callable[[Exchange], Awaitable[None]]
Protected = Callable[[Services, Exchange, Snapshot, Caller], Awaitable[None]]
Mounted = Callable[[Services], ASGIApp]

_OPEN_PATHS = ("/health", *(f"{prefix}/health" for prefix in PREFIXES), *PREFIXES, "/api/health")
_ENDPOINTS = (
    "/v1/audio/transcriptions",
    "/v1/audio/translations",
    "/v1/models",
    "/v1/models/stt",
    "/v1/models/info",
)
_MODELS = "/models/"
_BELOW = tuple(f"{prefix}/" for prefix in PREFIXES)

_log = logging.getLogger(__name__)


async def _health(exchange: Exchange) -> None:
    await exchange.json({"status": "ok", "component": "api"})


async def _api_health(exchange: Exchange) -> None:
    await exchange.json({"ok": True})


async def _root(exchange: Exchange) -> None:
    await exchange.json({"version": "v1", "endpoints": list(_ENDPOINTS)})


_OPEN: Mapping[str, Open] = {
    **{path: _health for path in _OPEN_PATHS if path.endswith("/health")},
    **dict.fromkeys(PREFIXES, _root),
    "/api/health": _api_health,
}
"""GET, without a key."""

_PROTECTED: Mapping[str, tuple[str, Protected]] = {
    "/audio/transcriptions": ("POST", transcriptions.transcribe),
    "/audio/translations": ("POST", transcriptions.translate),
    "/models": ("GET", models.list_all),
    "/models/info": ("GET", models.info),
}
"""Below each prefix, with a key."""

_ROUTES = {prefix + path: route for prefix in PREFIXES for path, route in _PROTECTED.items()}


class App:
    """Opens its services at the server's start-up and closes them at its end.

    `admin` makes the application that answers below /api; it is asked once, when the services are open.
    """

    def __init__(self, settings: Settings, admin: Mounted | None = None):
        self._settings = settings
        self._make_admin = admin
        self._admin: ASGIApp | None = None
        self._services: Services | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or live through the server's start and end."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(resolved(scope, trust=self._settings.trust_proxy), receive, send)

    @property
    def services(self) -> Services:
        """What the routes share. Raises Unavailable before the start-up is complete and after the end."""
        if self._services is None:
            raise Unavailable("The gateway is starting", retry_after=1)
        return self._services

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            try:
                self._services = await stack.enter_async_context(running(self._settings))
                await stack.enter_async_context(retention.pruning(self._services.store))
                self._admin = self._make_admin(self._services) if self._make_admin else None
            except (OpenProxyError, OSError) as error:
                told = error.message if isinstance(error, OpenProxyError) else error.strerror or "no access"
                await send({"type": "lifespan.startup.failed", "message": told})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        self._services = self._admin = None
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send)
        try:
            if exchange.method == "OPTIONS":
                await exchange.reply(200, b"", "text/plain; charset=utf-8", preflight(exchange.header(REQUESTED)))
            elif (admin := self._admin_for(exchange.path)) is not None:
                await admin(scope, receive, exchange.completing(send))
            else:
                await self._answer(exchange)
        except OpenProxyError as error:
            await _fail(exchange, error)
        except ClientDisconnect:
            exchange.status = exchange.status or CLIENT_GONE
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
            if not exchange.gone:
                # the time in which running requests may finish is over
                await _fail(exchange, Unavailable("The server is stopping", code="stopping", retry_after=1))
        except OSError as error:
            _log.error("%s failed: %s", exchange.request_id, error.strerror)
            room = Unavailable("The server has no room for this upload now", code="storage", retry_after=10)
            await _fail(exchange, room)
        except Exception:
            _log.exception("%s failed", exchange.request_id)
            await _fail(exchange, OpenProxyError("Internal error; the server's log tells more", code="internal_error"))
        finally:
            exchange.close()

    async def _answer(self, exchange: Exchange) -> None:
        path = exchange.path.rstrip("/") or "/"
        method = "GET" if exchange.method == "HEAD" else exchange.method
        opened = _OPEN.get(path)
        if opened is not None:
            if method == "GET":
                await opened(exchange)
            else:
                await _not_allowed(exchange, "GET")
            return
        services = self.services
        if path == "/metrics":
            services.guard.local(exchange, await services.store.snapshot())
            if method != "GET":
                await _not_allowed(exchange, "GET")
                return
            await exchange.reply(200, services.metrics.text(), metrics.CONTENT_TYPE)
            return
        if not path.startswith(_BELOW):
            raise _no_route(method, path)
        snapshot = await services.store.snapshot()
        caller = services.guard.protected(exchange, snapshot)
        await _protected(services, exchange, snapshot, caller, method, path)

    def _admin_for(self, path: str) -> ASGIApp | None:
        """The place of the admin side: its document, and everything below /api but the probe, which is open."""
        here = path == "/openapi.json" or (path.startswith("/api/") and path not in _OPEN)
        return self._admin if here else None


async def _protected(
    services: Services, exchange: Exchange, snapshot: Snapshot, caller: Caller, method: str, path: str
) -> None:
    route = _ROUTES.get(path)
    if route is not None:
        allowed, handler = route
        if method == allowed:
            await handler(services, exchange, snapshot, caller)
        else:
            await _not_allowed(exchange, allowed)
        return
    prefix = next((prefix for prefix in reversed(PREFIXES) if path.startswith(prefix + _MODELS)), None)
    if prefix is None:
        raise _no_route(method, path)
    if method == "GET":
        await models.one(exchange, snapshot, path.removeprefix(prefix + _MODELS))
    else:
        await _not_allowed(exchange, "GET")


def _no_route(method: str, path: str) -> NotFound:
    """What to call instead: a client whose base address lacks the prefix, or has more than it, is told the whole path."""
    meant = next((f"{allowed} /v1{end}" for end, (allowed, _) in _PROTECTED.items() if path.endswith(end)), None)
    advice = f"use {meant}" if meant else "GET /v1 lists the routes"
    return NotFound(f"There is no route {method} {path}; {advice}", code="not_found")


async def _not_allowed(exchange: Exchange, allowed: str) -> None:
    message = f"Method {exchange.method} is not allowed here; use {allowed}"
    await exchange.json(envelope(message, 405, code="method_not_allowed"), 405, {"allow": f"{allowed}, OPTIONS"})


async def _fail(exchange: Exchange, error: OpenProxyError) -> None:
    """Answer with an error, unless an answer has begun: then the connection is given up."""
    if exchange.status is None:
        await exchange.fail(error)
