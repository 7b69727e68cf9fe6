"""The upstream side of HTTP: one session for the process, its limits, and every fault turned into an UpstreamError."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self
from urllib.parse import urljoin, urlsplit

import aiohttp
from aiohttp.tracing import Trace
from yarl import URL

from openproxy.errors import UpstreamError
from openproxy.providers import decoding, faults
from openproxy.providers.bodies import Body
from openproxy.providers.credentials import Redactor, redacted
from openproxy.upload import Connection
from openproxy.version import __version__

_ERROR_BYTES = 64 * 1024
"""As much of an error answer as is read for its message."""
_MAX_REDIRECTS = 5
_FAULTS = (aiohttp.ClientError, OSError, ValueError)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how much (contracts/gateway.md, decision 27)."""

    connect: float = 30.0
    """Seconds until a connection must stand."""
    idle: float = 300.0
    """Seconds that may pass without a byte sent or received."""
    answer_bytes: int = 32 * 1024 * 1024
    """Bytes of an answer, beyond which it is a 502."""


class Client:
    """Sends requests upstream over one pool of connections. Enter it, or `start()` it, on the running event loop.

    It holds no cookies, reads no netrc and no proxy settings: nothing of one account reaches another.
    """

    def __init__(self, limits: Limits | None = None):
        self.limits = limits or Limits()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def start(self) -> None:
        """Open the pool."""
        self._session = aiohttp.ClientSession(
            connector=_Connector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                total=None, connect=self.limits.connect, sock_connect=self.limits.connect, sock_read=self.limits.idle
            ),
            headers={"User-Agent": f"openproxy/{__version__}", "Accept-Encoding": decoding.ACCEPTED},
            auto_decompress=False,
        )

    async def close(self) -> None:
        """Close every connection of the pool."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def get(self, url: str, connection: Connection, headers: Mapping[str, str]) -> "Answer":
        """Ask for `url`. Returns an answer of status 2xx; raises UpstreamError for all else."""
        return await self._request("GET", url, connection, headers, None)

    async def post(self, url: str, connection: Connection, headers: Mapping[str, str], body: Body) -> "Answer":
        """Send `body`, while it is read. Returns an answer of status 2xx whose body is still on its way.

        Raises UpstreamError for every other status, with the upstream's message, and 502 `Request failed: ...` where
        there is no answer; what reading the recording raises passes through. Cancelling closes the connection.
        """
        return await self._request("POST", url, connection, headers, body)

    async def _request(
        self, method: str, url: str, connection: Connection, headers: Mapping[str, str], body: Body | None
    ) -> "Answer":
        for _ in range(_MAX_REDIRECTS):
            answer = await self._exchange(method, url, connection, headers, body)
            if 200 <= answer.status < 300:
                return answer
            location = answer.location
            if location is None:
                raise await answer.error()
            answer.close()
            url = _redirected(method, url, location, answer.status, body)
        raise UpstreamError(502, "Request failed: the upstream redirects in a circle")

    async def _exchange(
        self, method: str, url: str, connection: Connection, headers: Mapping[str, str], body: Body | None
    ) -> "Answer":
        if self._session is None:
            raise RuntimeError("the client is not started")
        sent = dict(headers)
        if body is not None:
            sent["Content-Type"] = body.content_type
            if body.size is not None:
                sent["Content-Length"] = str(body.size)
        watch = _Watch(self.limits.idle)
        try:
            async with watch:
                response = await self._session.request(
                    method,
                    URL(url, encoded=True),
                    headers=sent,
                    data=None if body is None else watch.feed(body.chunks()),
                    allow_redirects=False,
                )
        except _FAULTS as error:
            fault = watch.source_error or _failed(error, self.limits)
        else:
            return Answer(response, connection, self.limits, watch)
        raise fault  # out here, so that no address comes along as its context


class _Connector(aiohttp.TCPConnector):
    """Lets go of a connection at once where it is given up: an upstream that does not read would hold it open for long."""

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's
    ) -> aiohttp.connector.Connection:
        """A new connection, or one of the pool."""
        connection = await super().connect(req, traces, timeout)
        connection.add_callback(partial(_drop_unwritten, connection.transport))
        return connection


def _drop_unwritten(transport: asyncio.Transport | None) -> None:
    """Close a connection that is let go of with something still to write; aiohttp itself would wait until it is taken."""
    if transport is not None and transport.get_write_buffer_size() > 0:
        transport.abort()


class Answer:
    """An upstream answer whose head has come. Read it, stream it or close it."""

    def __init__(self, response: aiohttp.ClientResponse, connection: Connection, limits: Limits, watch: "_Watch"):
        self._response = response
        self._connection = connection
        self._limits = limits
        self._watch = watch
        self.status = response.status
        self.content_type = response.headers.get("Content-Type", "").strip() or None
        """As the upstream wrote it, with its parameters; None where it wrote none."""

    @property
    def location(self) -> str | None:
        """Where a redirect points; None where this is none."""
        if self.status not in (301, 302, 303, 307, 308):
            return None
        return self._response.headers.get("Location")

    async def read(self) -> bytes:
        """The whole body. Raises UpstreamError 502 where it is cut short, stalls or goes beyond the limit."""
        return b"".join([chunk async for chunk in self])

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The body in the pieces in which it arrives, with the same errors; the connection is closed if left early.

        The account's secret is taken out, should the upstream repeat it.
        """
        received = 0
        redactor = Redactor(self._connection)
        fault: Exception | None = None
        try:
            if (self._response.content_length or 0) > self._limits.answer_bytes:
                raise self._too_large()
            async for piece in self._decoded():
                received += len(piece)
                if received > self._limits.answer_bytes:
                    raise self._too_large()
                if shown := redactor.feed(piece):
                    yield shown
            if rest := redactor.finish():
                yield rest
        except _FAULTS as error:
            fault = self._watch.source_error or _failed(error, self._limits)
        finally:
            self.close()
        if fault is not None:
            raise fault

    async def _decoded(self) -> AsyncIterator[bytes]:
        decoder = decoding.Decoder(self._response.headers.get("Content-Encoding"))
        async for chunk in self._response.content.iter_any():
            for piece in decoder.feed(chunk):
                yield piece
        decoder.finish()

    async def error(self) -> UpstreamError:
        """The error that this answer is: its status and message, and when to try again."""
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.idle):
                async for piece in self._decoded():
                    body += piece
                    if len(body) > _ERROR_BYTES:
                        break
        except _FAULTS:
            pass  # the status is known, and so is a part of the text
        finally:
            self.close()
        text = faults.message(self.status, self.content_type or "", bytes(body[:_ERROR_BYTES]))
        return UpstreamError(
            self.status if 400 <= self.status < 600 else 502,
            redacted(text, self._connection),
            retry_after=faults.retry_after(self._response.headers),
        )

    def close(self) -> None:
        """Let go of it: the connection returns to the pool if the answer was read to its end, else it is closed."""
        self._response.close()

    def _too_large(self) -> UpstreamError:
        return UpstreamError(502, f"Request failed: the answer is larger than {self._limits.answer_bytes} bytes")


class _Watch:
    """Ends an exchange when the upstream takes no byte of the body, or sends no head, for `idle` seconds.

    The time that the recording itself takes to arrive does not count. A timer for each chunk would cost more than
    sending it: there is one, which looks at the end of its time whether the upstream has been idle for all of it.
    """

    def __init__(self, idle: float):
        self._idle = idle
        self._timeout = asyncio.timeout(None)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._since: float | None = None
        """When the upstream's turn began; None while it is the recording's."""
        self.source_error: Exception | None = None
        """What reading the recording raised."""

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()
        self._timer = self._loop.call_later(self._idle, self._look)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._timeout.__aexit__(kind, error, trace)

    async def feed(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The chunks of a body as the connection takes them."""
        try:
            async for chunk in chunks:
                if chunk:
                    self._since = self._loop.time()
                    yield chunk
                    self._since = None
        except Exception as error:
            self.source_error = error
            raise
        self._since = self._loop.time()

    def _look(self) -> None:
        now = self._loop.time()
        due = self._idle + (now if self._since is None else self._since)
        if due <= now:
            self._timeout.reschedule(now)
        else:
            self._timer = self._loop.call_at(due, self._look)


def _failed(error: Exception, limits: Limits) -> UpstreamError:
    return UpstreamError(502, f"Request failed: {faults.broken(error, limits.idle, limits.connect)}")


def _redirected(method: str, url: str, location: str, status: int, body: Body | None) -> str:
    """The address to go on with: only on the same host, and only where the body can be sent again as it was.

    (contracts/gateway.md, decision 16.)
    """
    try:
        target = urlsplit(urljoin(url, location))
        origin = urlsplit(url)
        same = (target.scheme, target.hostname, target.port) == (origin.scheme, origin.hostname, origin.port)
    except ValueError:
        same = False
    if not same or "@" in target.netloc:
        raise UpstreamError(502, "Request failed: the upstream redirects to another host, which is not followed")
    if method == "POST" and (status not in (307, 308) or body is None or not body.reopenable):
        raise UpstreamError(502, "Request failed: the upstream redirects to another address; set it as baseUrl")
    return target._replace(fragment="").geturl()
