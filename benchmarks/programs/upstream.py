"""The upstream of the gateway benchmark: reads a request's body and answers with its size, as fast as Python goes.

Argument: the port to listen on.
"""

import asyncio
import sys

import httptools
import uvloop


class Upstream(asyncio.Protocol):
    """One connection: keep-alive, Content-Length or chunked."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio.Protocol."""
        self._transport = transport
        self._parser = httptools.HttpRequestParser(self)
        self._size = 0

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        """Count it."""
        self._size += len(body)

    def on_message_complete(self) -> None:
        """Answer as OpenAI does; the text is the number of bytes that came."""
        answer = b'{"text":"%d"}' % self._size
        self._size = 0
        self._transport.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(answer), answer)
        )


async def main() -> None:
    """Serve until killed."""
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", int(sys.argv[1]), backlog=1024)
    await server.serve_forever()


uvloop.run(main())
