"""The application below /api, and its OpenAPI document at /openapi.json."""

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from openproxy.errors import OpenProxyError
from openproxy.gateway.admin import (
    aliases,
    answers,
    catalog,
    combos,
    keys,
    login,
    media_providers,
    providers,
    settings,
    usage,
)
from openproxy.gateway.admin.access import EXCHANGE, SECURITY_SCHEMES
from openproxy.gateway.exchange import Exchange
from openproxy.gateway.services import Services
from openproxy.version import __version__

DOCUMENT = "/openapi.json"
INITIAL_PASSWORD = "INITIAL_PASSWORD"  # noqa: S105 - the variable's name, not its value
_ROUTERS = (
    media_providers.keyed,
    media_providers.shown,
    providers.routes,
    keys.routes,
    combos.routes,
    aliases.routes,
    settings.routes,
    login.public,
    login.routes,
    catalog.routes,
    usage.routes,
)
_PASSWORD_CHECKS = 2
"""Passwords that are checked at the same time: each check takes 64 MiB."""


def mounted(services: Services, environ: Mapping[str, str] = os.environ) -> ASGIApp:
    """The application that the gateway asks below /api and for the document; everything is built before the first call.

    `INITIAL_PASSWORD` is the dashboard's password for as long as none is set.
    """
    api = Admin(title="OpenProxy", version=__version__)
    api.state.services = services
    api.state.initial_password = environ.get(INITIAL_PASSWORD) or None
    api.state.password_checks = asyncio.Semaphore(_PASSWORD_CHECKS)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].rstrip("/")
        await api({**scope, "path": path, EXCHANGE: Exchange(scope, receive, send)}, receive, send)

    return application


async def _document(request: Request) -> Response:
    # some tenths of a second, once
    return answers.json_answer(await asyncio.to_thread(request.app.openapi), 200)


async def _unrouted(request: Request, _error: HTTPException) -> Response:
    path = request.scope["path"]
    known = [route for router in _ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    allowed = {method for route in known if route.path_regex.match(path) for method in route.methods or ()}
    if path == DOCUMENT:
        allowed = {"GET"}
    return answers.no_method(request, allowed) if allowed else answers.no_route(request)


class Admin(FastAPI):
    """FastAPI with the routes and the errors of /api."""

    def __init__(self, **settings: Any):
        handlers: dict[int | type[Exception], Any] = {
            OpenProxyError: answers.on_error,
            RequestValidationError: answers.on_invalid,
            HTTPException: _unrouted,
            Exception: answers.on_fault,
        }
        super().__init__(redirect_slashes=False, openapi_url=None, exception_handlers=handlers, **settings)
        self.add_route(DOCUMENT, _document, include_in_schema=False)
        # include_router would leave work to the first request, for which all other requests would wait
        self.router.routes.extend(route for router in _ROUTERS for route in router.routes)
        self.middleware_stack = self.build_middleware_stack()

    def openapi(self) -> dict[str, Any]:
        """The document: FastAPI's, without the errors that are never sent, with the ways to be let in."""
        if self.openapi_schema is None:
            document = super().openapi()
            for path in document["paths"].values():
                for operation in path.values():
                    operation["responses"].pop("422", None)
            components = document.setdefault("components", {})
            for unused in ("HTTPValidationError", "ValidationError"):
                components["schemas"].pop(unused, None)
            components["securitySchemes"] = SECURITY_SCHEMES
        return self.openapi_schema or document
