"""uvicorn's fast HTTP parser with an end to how large the head of a request may be."""

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

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

    def on_headers_complete(self) -> None:
        """The head has come; what follows is the body."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The next byte is of a new request."""
        super().on_message_complete()
        self._in_head = True
        self._head_bytes = 0
