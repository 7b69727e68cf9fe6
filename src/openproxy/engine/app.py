"""The routes of the engine, thin: which request is let in, and which function answers it."""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from openproxy.engine import model_facts
from openproxy.engine.chat_completions import ChatCompletions
from openproxy.engine.exchange import CLIENT_GONE, Exchange
from openproxy.engine.llama import access, replies
from openproxy.engine.llama.replies import Reply
from openproxy.engine.metrics import CONTENT_TYPE, Metrics
from openproxy.engine.settings import EngineSettings
from openproxy.engine.transcriptions import Transcriptions
from openproxy.engine.worker import Worker
from openproxy.errors import Loading, NotFound, OpenProxyError, Unauthorized, Unavailable
from openproxy.web.sse import compact

Handler = Callable[[Exchange], Awaitable[None]]

_log = logging.getLogger(__name__)


class App:
    """The ASGI application over one worker."""

    def __init__(self, settings: EngineSettings, worker: Worker):
        self._settings = settings
        self._worker = worker
        self._metrics = Metrics(worker)
        self._started = int(time.time())
        transcriptions = Transcriptions(settings, worker, self._metrics)
        chat = ChatCompletions(settings, worker)
        self._routes: Mapping[tuple[str, str], Handler] = {
            **_on("GET", self._health, "/health", "/v1/health"),
            **_on("GET", self._ready, "/ready"),
            **_on("GET", self._models, "/v1/models", "/models"),
            **_on("GET", self._counts, "/metrics"),
            **_on("POST", chat.complete, "/v1/chat/completions", "/chat/completions"),
            **_on("POST", transcriptions.transcribe, *access.TRANSCRIPTIONS),
            **_on("POST", transcriptions.translate, *access.TRANSLATIONS),
        }
        self._paths = {path for _, path in self._routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens, and count it."""
        if scope["type"] != "http":
            return
        begun = time.monotonic()
        exchange = Exchange(scope, receive, send, self._settings)
        try:
            await self._answer(exchange)
        except OpenProxyError as error:
            await exchange.fail(error)
        except ClientDisconnect:
            exchange.status = exchange.status or CLIENT_GONE
        except OSError as error:
            _log.error("Request %s failed: %s", exchange.request_id, error.strerror)
            room = Unavailable("The server has no room for this upload now", code="storage", retry_after=10)
            await exchange.fail(room)
        except Exception:
            _log.exception("Request %s failed", exchange.request_id)
            await exchange.fail(OpenProxyError("Internal error; the server's log tells more", code="internal_error"))
        finally:
            self._metrics.answered(self._route(exchange), exchange.status or CLIENT_GONE, time.monotonic() - begun)

    async def _answer(self, exchange: Exchange) -> None:
        """The order of contracts/engine.md, section 2: OPTIONS, loading, key, route."""
        if exchange.method == "OPTIONS":
            await exchange.reply(replies.preflight(), preflight=True)
            return
        if self._worker.facts is None:
            raise Loading("Loading model", retry_after=1)
        if exchange.path not in access.PUBLIC and not access.authorised(
            self._settings.keys, exchange.header("authorization"), exchange.header("x-api-key")
        ):
            raise Unauthorized("Invalid API Key")
        handler = self._routes.get((exchange.method, exchange.path or ""))
        if handler is not None:
            await handler(exchange)
        elif exchange.method == "GET" and (name := _model_name(exchange.path)) is not None:
            await self._one_model(exchange, name)
        else:
            raise replies.no_route(exchange.method)

    async def _health(self, exchange: Exchange) -> None:
        """The server is up and has its model."""
        await exchange.reply(_json({"status": "ok"}))

    async def _ready(self, exchange: Exchange) -> None:
        """The process of the model answers now."""
        if not self._worker.ready:
            raise Unavailable("The process of the model does not answer", code="not_ready", retry_after=1)
        await exchange.reply(_json({"status": "ready"}))

    async def _models(self, exchange: Exchange) -> None:
        await exchange.reply(_json({"object": "list", "data": [self._model()]}))

    async def _one_model(self, exchange: Exchange, name: str) -> None:
        """The loaded model under its own name, as OpenAI's clients retrieve one."""
        model = self._model()
        if name != model["id"]:
            message = f"There is no model '{name[:80]}' here; loaded is '{model['id']}'"
            raise NotFound(message, param="model", code="model_not_found")
        await exchange.reply(_json(model))

    async def _counts(self, exchange: Exchange) -> None:
        await exchange.reply(Reply(200, self._metrics.text(), CONTENT_TYPE))

    def _model(self) -> dict[str, Any]:
        """The loaded model as OpenAI lists one."""
        if self._worker.facts is None:
            raise Loading("Loading model", retry_after=1)
        return model_facts.listed(self._worker.facts, self._settings, self._worker, created=self._started)

    def _route(self, exchange: Exchange) -> str:
        """A path of ours, or `other`: clients cannot make up labels."""
        if exchange.path in self._paths:
            return exchange.path
        return "/v1/models/{model}" if _model_name(exchange.path) is not None else "other"


def _on(method: str, handler: Handler, *paths: str) -> dict[tuple[str, str], Handler]:
    return {(method, path): handler for path in paths}


def _model_name(path: str | None) -> str | None:
    """The model of `/v1/models/NAME`, whose name may hold slashes; None for every other path."""
    for start in ("/v1/models/", "/models/"):
        if path is not None and path.startswith(start) and path != start:
            return path.removeprefix(start)
    return None


def _json(data: Any) -> Reply:
    return Reply(200, compact(data))
