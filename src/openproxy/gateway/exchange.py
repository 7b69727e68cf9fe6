"""One HTTP request and its one answer: the body chunk by chunk under a limit, the reply, and what happens when the client goes."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from openproxy.errors import OpenProxyError, Stalled
from openproxy.gateway.forwarded import PROXIED
from openproxy.web import body, sse
from openproxy.web.protocol import LEFT
from openproxy.web.responses import CORS, REQUEST_ID, envelope, error_headers, header_value, new_request_id

CLIENT_GONE = 499
"""The status that is counted where nobody waited for the answer."""


class Exchange:
    """A request with the means to read its body and to answer it once."""

    def __init__(self, scope: Scope, receive: Receive, send: Send):
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.request_id = new_request_id()
        self.begun = time.monotonic()
        self.status: int | None = None
        """Of the answer; None until it has begun."""
        self.gone = False
        """Whether the client went away before the answer's end."""
        self.body_over = False
        """Whether the whole body has been read."""
        self._scope = scope
        self._receive = receive
        self._send = send
        self._headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            self._headers.setdefault(name, value)
        self._limit: int | None = None
        self._idle: float | None = None
        self._received = 0
        self._main = asyncio.current_task()
        self._reading = False
        self._watchers: set[Callable[[], None]] = scope.get(LEFT, set())

    def header(self, name: str) -> str | None:
        """The first header of this name, in lower case; None where there is none."""
        value = self._headers.get(name.encode("latin-1"))
        return None if value is None else value.decode("latin-1")

    def query(self, name: str) -> str | None:
        """The first query parameter of this name."""
        raw = self._scope["query_string"]
        if not raw:
            return None
        pairs = parse_qsl(raw.decode("latin-1"), keep_blank_values=True)
        return next((value for key, value in pairs if key == name), None)

    @property
    def from_here(self) -> bool:
        """Whether the request comes from this machine, and not through a proxy on it."""
        client = self._scope.get("client")
        return client is not None and _is_loopback(client[0]) and not self._scope.get(PROXIED)

    def limit(self, max_bytes: int, idle: float) -> None:
        """Bytes that the body may have, and seconds that may pass without one.

        Raises UploadTooLarge at once where Content-Length promises more.
        """
        declared = body.declared_length(self.header("content-length"))
        if declared is not None and declared > max_bytes:
            raise body.too_large(max_bytes)
        self._limit, self._idle = max_bytes, idle

    async def chunk(self) -> bytes:
        """The next piece of the body; `body_over` says whether it was the last.

        Being cancelled here loses nothing. Raises ClientDisconnect, UploadTooLarge, Stalled. From the first piece on, a
        client that goes away while nobody reads cancels the task that made this exchange.
        """
        self._watchers.add(self._left)
        message = await self._message()
        if message["type"] == "http.disconnect":
            self.gone = True
            raise ClientDisconnect
        data: bytes = message.get("body", b"")
        self._received += len(data)
        if self._limit is not None and self._received > self._limit:
            raise body.too_large(self._limit)
        self.body_over = not message.get("more_body", False)
        return data

    async def reply(
        self, status: int, data: bytes, content_type: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a whole answer."""
        told = {"content-type": content_type, "content-length": str(len(data)), **(headers or {})}
        await self._start(status, told)
        self.close()
        await self._send({"type": "http.response.body", "body": data})

    async def json(self, data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Send JSON."""
        await self.reply(status, sse.compact(data), "application/json", headers)

    async def fail(self, error: OpenProxyError, headers: Mapping[str, str] | None = None) -> None:
        """Send an error."""
        found = envelope(error.message, error.status, param=error.param, code=error.code)
        await self.json(found, error.status, {**error_headers(error), **(headers or {})})

    async def stream(self, pieces: AsyncIterator[bytes], content_type: str, headers: Mapping[str, str]) -> None:
        """Send pieces as they come. An error among them becomes a last event: only event streams are sent this way."""
        await self._start(200, {"content-type": content_type, "cache-control": "no-cache", **headers})
        tail = b"\n\n"
        try:
            async for piece in pieces:
                tail = (tail + piece)[-2:]
                await self._send({"type": "http.response.body", "body": piece, "more_body": True})
        except OpenProxyError as error:
            told = sse.frame(envelope(error.message, error.status, param=error.param, code=error.code))
            piece = told if tail == b"\n\n" else b"\n\n" + told
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})
        self.close()
        await self._send({"type": "http.response.body", "body": b""})

    def completing(self, send: Send) -> Send:
        """`send` for another application: its answer gets the headers that every answer of the gateway has."""

        async def complete(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                there = {name.lower() for name, _ in message["headers"]}
                more = {**CORS, REQUEST_ID: self.request_id}
                missing = [
                    (name.encode(), value.encode()) for name, value in more.items() if name.encode() not in there
                ]
                message = {**message, "headers": [*message["headers"], *missing]}
            await send(message)

        return complete

    def close(self) -> None:
        """End the watch for a client that goes away. May be called more than once."""
        self._watchers.discard(self._left)

    def abandon(self) -> None:
        """Nobody waits for the answer any more: cancel the task that works on it."""
        self.gone = True
        if self._main is not None:
            self._main.cancel()

    async def _message(self) -> Message:
        self._reading = True
        try:
            async with asyncio.timeout(self._idle):
                return await self._receive()
        except TimeoutError:
            raise Stalled.after(self._idle or 0) from None
        finally:
            self._reading = False

    async def _start(self, status: int, headers: Mapping[str, str]) -> None:
        self.status = status
        told = {**CORS, REQUEST_ID: self.request_id, **headers}
        encoded = [(name.encode("ascii"), header_value(value).encode("ascii")) for name, value in told.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    def _left(self) -> None:
        """The client has gone. Who reads its body is told there."""
        self.close()
        if not self._reading:
            self.abandon()


def _is_loopback(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
