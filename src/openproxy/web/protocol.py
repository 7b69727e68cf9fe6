"""uvicorn's fast HTTP parser with an end to how large a head may be, and answers of ours for what is no HTTP."""

from typing import Any

from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from openproxy.web.responses import envelope
from openproxy.web.sse import compact

HEAD_BYTES = 64 * 1024
"""Of request line and headers together, to the next packet. The parser itself would take any number."""

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class BoundedProtocol(HttpToolsProtocol):
    """For `uvicorn.Config(http=...)`: answers 431 and closes where a head goes beyond HEAD_BYTES."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = True
        self._head_bytes = 0

    def data_received(self, data: bytes) -> None:
        """Parse one packet."""
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no HTTP request in the envelope of every other error, and close.

        Bytes after a request without a length are none either: that request is answered first.
        """
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete and not cycle.more_body:
            cycle.keep_alive = False
            return
        body = compact(envelope(msg, 400, code="invalid_http"))
        head = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
        self.transport.write(head % len(body) + body)
        self.transport.close()

    def on_headers_complete(self) -> None:
        """The head has come; what follows is the body."""
        self._in_head = False
        super().on_headers_complete()

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
        super().on_message_complete()
        self._in_head = True
        self._head_bytes = 0
