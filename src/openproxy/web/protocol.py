"""uvicorn's fast HTTP parser with an end to how large a head may be and how long it may take, and answers of ours for
what is no HTTP.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from openproxy.web.peer import WatchfulFlow
from openproxy.web.responses import CORS, REQUEST_ID, envelope, new_request_id
from openproxy.web.sse import compact

HEAD_BYTES = 64 * 1024
"""Of request line and headers together, to the next packet. The parser itself would take any number."""
QUIET_SECONDS = 60.0
"""How long a client may be silent within a head, or within a body that has been answered already."""
LEFT = "openproxy.left"
"""Key of the scope that holds a set of functions: each is called where the client goes away."""

_OFFER = (b"upgrade", b"http2-settings")
"""Headers of an offer to go on in another protocol, and the words for it in `Connection`."""


class BoundedProtocol(HttpToolsProtocol):
    """For `uvicorn.Config(http=...)`: answers 431 and closes where a head goes beyond HEAD_BYTES.

    An offer to go on in another protocol, which some HTTP/2 clients make with every request, is passed over.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = True
        self._head_bytes = 0
        self._offered = False
        self._heard = self.loop.time()
        self._quiet: asyncio.TimerHandle | None = None
        self._left: set[Callable[[], None]] = set()
        self._running: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """A client has come."""
        super().connection_made(transport)
        self.flow = WatchfulFlow(transport, self.loop)
        self._quiet = self.loop.call_later(QUIET_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone, or was let go."""
        if self._quiet is not None:
            self._quiet.cancel()
        super().connection_lost(exc)
        if (cycle := self._running) is not None and not cycle.response_complete:
            # not always the one that uvicorn has told: another request may wait behind it
            cycle.disconnected = True
            cycle.message_event.set()
        if isinstance(self.flow, WatchfulFlow):
            self.flow.end()
        for told in tuple(self._left):
            told()

    def data_received(self, data: bytes) -> None:
        """Parse one packet."""
        self._heard = self.loop.time()
        if self._in_head:
            self._head_bytes += len(data)
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            self._decline(data[offer.args[0] :])
        except httptools.HttpParserError:
            message = "Invalid HTTP request received."
            self.logger.warning(message)
            self.send_400_response(message)
        if self._in_head and self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self._refuse(431, f"Request head too large: the limit is {HEAD_BYTES} bytes", "head_too_large")

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no HTTP request in the envelope of every other error, and close.

        Bytes after a request without a length are none either: that request is answered first.
        """
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete and not cycle.more_body:
            cycle.keep_alive = False
            return
        self._refuse(400, msg, "invalid_http")

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)[LEFT] = self._left

    def on_headers_complete(self) -> None:
        """The head has come; what follows is the body."""
        self._offered = self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"
        if self._offered:
            return
        self._in_head = False
        super().on_headers_complete()
        if not self.pipeline:
            self._running = self.cycle

    def on_response_complete(self) -> None:
        """An answer is complete: the next request begins, where one waits behind it."""
        if self.pipeline and not self.transport.is_closing():
            self._running = self.pipeline[-1][0]
        super().on_response_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of the body has come: where nothing waits before it, it goes to the application uncopied."""
        if self.cycle.body or self.cycle.response_complete or self.parser.should_upgrade():
            super().on_body(body)
            return
        self.cycle.body = body  # type: ignore[assignment]  # only ever added to, and read as bytes
        if len(body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        self.cycle.message_event.set()

    def on_message_complete(self) -> None:
        """The next byte is of a new request."""
        if self._offered:
            return
        super().on_message_complete()
        self._in_head = True
        self._head_bytes = 0

    def _decline(self, rest: bytes) -> None:
        """Read the request again without its offer: the parser takes what follows such a head for another protocol."""
        if not self._offered:
            return
        line = b"%s %s HTTP/%s\r\n" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
        head = line + b"".join(b"%s: %s\r\n" % header for header in _without_offer(self.headers))
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._offered, self._head_bytes = False, 0
        self.data_received(head + b"\r\n" + rest)

    def _refuse(self, status: int, message: str, code: str) -> None:
        """Answer with an error, and close."""
        body = compact(envelope(message, status, code=code))
        headers = {
            **CORS,
            REQUEST_ID: new_request_id(),
            "content-type": "application/json",
            "connection": "close",
            "content-length": str(len(body)),
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.transport.write(STATUS_LINE[status] + head.encode("ascii") + b"\r\n" + body)
        self.transport.close()

    def _look(self) -> None:
        """Close where a client has been silent for too long and no application waits for it, which has its own limits."""
        now = self.loop.time()
        running = self._running is not None and not self._running.response_complete
        answering = self.transport.get_write_buffer_size() > 0
        due = QUIET_SECONDS + (now if running or answering else self._heard)
        if due > now:
            self._quiet = self.loop.call_at(due, self._look)
        else:
            self.transport.abort()


def _without_offer(headers: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    for name, value in headers:
        if name == b"connection":
            words = map(bytes.strip, value.split(b","))
            yield name, b", ".join(word for word in words if word.lower() not in _OFFER)
        elif name not in _OFFER:
            yield name, value
