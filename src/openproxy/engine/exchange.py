"""One HTTP request and its one answer: the body as it comes, a reply or a stream of events, and what happens when the client goes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from openproxy.engine.llama import access, replies
from openproxy.engine.llama.replies import Reply
from openproxy.engine.settings import EngineSettings
from openproxy.errors import AudioError, OpenProxyError
from openproxy.web import body, sse
from openproxy.web.responses import REQUEST_ID, envelope, new_request_id

PING_SECONDS = 30.0
"""Silence on a stream after which a comment keeps the connection open (contracts/engine.md, section 7.3)."""
DISCARDED_BYTES = 128 * 1024 * 1024
"""Of a body that is refused unread: read on up to here, so that the answer is not lost in a reset connection."""
CLIENT_GONE = 499
"""The status that is counted where nobody waited for the answer."""


class Exchange:
    """A request with the means to answer it once, in the wire format of the API that is served."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, settings: EngineSettings):
        self.request = Request(scope, receive)
        self.request_id = new_request_id()
        self.path = access.path_of(scope.get("raw_path") or scope["path"], settings.prefix)
        self.status: int | None = None
        """Of the answer; None until it has begun."""
        self._receive = receive
        self._send = send
        self._llama = settings.api == "llama"
        self._cors = access.Cors(settings.cors_origins, settings.cors_credentials)
        self._chunks = self.request.stream()
        self._read = False

    @property
    def method(self) -> str:
        """`GET` for HEAD too: the server leaves out the body."""
        return "GET" if self.request.method == "HEAD" else self.request.method

    def header(self, name: str) -> str | None:
        """The first header of this name."""
        return self.request.headers.get(name)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes. Raises starlette's ClientDisconnect where the client goes before its end."""
        async for chunk in self._chunks:
            yield chunk
        self._read = True

    @property
    def declared(self) -> int | None:
        """Bytes of the body as Content-Length has them."""
        return body.declared_length(self.header("content-length"))

    async def while_connected(self, work: Awaitable[None]) -> None:
        """Do the work, once the body was read; cancel it when the client goes."""
        working = asyncio.ensure_future(work)
        watching = asyncio.create_task(self._gone())
        try:
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                self.status = self.status or CLIENT_GONE
        finally:
            watching.cancel()
            if not working.done():
                working.cancel()
                with suppress(asyncio.CancelledError):
                    await working
        if not working.cancelled():
            working.result()

    async def reply(self, reply: Reply, *, preflight: bool = False) -> None:
        """Send a whole answer."""
        await self._discard()
        headers = self._headers(reply, preflight=preflight)
        headers.append(("Content-Length", str(len(reply.body))))
        await self._start(reply.status, headers)
        await self._send({"type": "http.response.body", "body": reply.body})

    async def fail(self, error: OpenProxyError) -> None:
        """Send an error; into a stream that has begun, as its last frame."""
        if self.status is None:
            await self.reply(self.failure(error))
        else:
            await self._body(sse.frame({"error": self._error(error)}), more=False)

    async def stream(self, frames: AsyncIterator[bytes]) -> None:
        """Send events as they come; with a comment in between where none comes for long."""
        opened = Reply(200, b"", sse.MEDIA_TYPE, headers=(("X-Accel-Buffering", "no"),))
        await self._start(200, self._headers(opened))
        async for frame in _with_pings(frames):
            await self._body(frame, more=True)
        await self._body(b"", more=False)

    def failure(self, error: OpenProxyError) -> Reply:
        """The reply for an error."""
        if self._llama:
            return replies.failure(error)
        retry = () if error.retry_after is None else (("Retry-After", str(error.retry_after)),)
        return Reply(error.status, sse.compact({"error": self._error(error)}), "application/json", headers=retry)

    def _error(self, error: OpenProxyError) -> dict[str, Any]:
        if self._llama:
            return replies.error_object(error)
        param = "file" if error.param is None and isinstance(error, AudioError) else error.param
        found: dict[str, Any] = envelope(error.message, error.status, param=param, code=error.code)["error"]
        return found

    def _headers(self, reply: Reply, *, preflight: bool = False) -> list[tuple[str, str]]:
        """llama-server's headers, or in OpenAI's API CORS and the type alone; the request id in both."""
        origin = self.header("origin")
        named = (REQUEST_ID, self.request_id)
        if self._llama:
            version = self.request.scope["http_version"]
            again = version == "1.1" and replies.wants_keep_alive(self.header("connection"))
            return [*replies.headers(reply, origin=origin, cors=self._cors, keep_alive=again, options=preflight), named]
        cors = self._cors.preflight_headers(origin) if preflight else self._cors.headers(origin)
        kind = [] if reply.content_type is None else [("Content-Type", reply.content_type)]
        return [*cors, *kind, *reply.headers, named]

    async def _start(self, status: int, headers: list[tuple[str, str]]) -> None:
        self.status = status
        encoded = [(name.lower().encode("ascii"), value.encode("ascii", "replace")) for name, value in headers]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    async def _body(self, data: bytes, *, more: bool) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": more})

    async def _gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _discard(self) -> None:
        """Read what the client still sends, unless it waits to be told to."""
        if not self._read and not self.header("expect"):
            await body.discard(self.chunks(), max_bytes=DISCARDED_BYTES)


async def _with_pings(frames: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    coming: asyncio.Future[bytes] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(frames))
            done, _ = await asyncio.wait({coming}, timeout=PING_SECONDS)
            if not done:
                yield sse.PING
                continue
            try:
                frame = coming.result()
            except StopAsyncIteration:
                return
            coming = None
            yield frame
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.wait({coming})
