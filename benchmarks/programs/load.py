"""The client of the gateway benchmark, in a process of its own: posts a form again and again over kept connections.

Each line of standard input is a JSON order, see `Order`; each gets a line of JSON back, see `Outcome`.
"""

import asyncio
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

import httptools
import uvloop

BOUNDARY = b"----a-boundary-as-browsers-make-them"
PATIENCE = 300.0
"""Seconds that one answer may take."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to send, and how often."""

    url: str
    key: str
    model: str
    size: int
    """Bytes of the file."""
    file_first: bool
    concurrency: int
    """Connections, each of which waits for its answer before it sends again."""
    seconds: float
    """No request begins after that; those under way are waited for."""
    requests: int
    """At most so many."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it."""

    latencies: list[float]
    """Seconds of each request that was answered as it should be, from its first byte to the answer's last."""
    elapsed: float
    """Seconds until the last answer."""
    failures: list[str]
    """What was wrong with the others."""


class Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio.Protocol."""
        self._transport = transport
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None

    async def post(self, request: bytes) -> tuple[int, bytes]:
        """Status and body of the answer."""
        self._parser = httptools.HttpResponseParser(self)
        self._body = bytearray()
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        async with asyncio.timeout(PATIENCE):
            return await self._answer

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        """Keep it."""
        self._body += body

    def on_message_complete(self) -> None:
        """Hand the answer over."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_result((self._parser.get_status_code(), bytes(self._body)))

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionError("closed before the answer"))

    def close(self) -> None:
        """Give the connection up."""
        self._transport.abort()


def request_of(order: Order) -> bytes:
    """The bytes of the whole request. The file is random, so that nothing in it is met by chance or compressed."""
    model = b'--%s\r\nContent-Disposition: form-data; name="model"\r\n\r\n%s\r\n' % (BOUNDARY, order.model.encode())
    file = (
        b'--%s\r\nContent-Disposition: form-data; name="file"; filename="clip.wav"\r\n'
        b"Content-Type: audio/wav\r\n\r\n%s\r\n" % (BOUNDARY, os.urandom(order.size))
    )
    body = (file + model if order.file_first else model + file) + b"--%s--\r\n" % BOUNDARY
    address = urlsplit(order.url)
    head = (
        f"POST {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {order.key}\r\n"
        f"Content-Type: multipart/form-data; boundary={BOUNDARY.decode()}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def wrong(order: Order, status: int, body: bytes) -> str | None:
    """What is wrong with an answer: the upstream tells the size of the form that reached it, which holds the file."""
    try:
        if status == 200 and int(json.loads(body)["text"]) > order.size:
            return None
    except (ValueError, KeyError, TypeError):
        pass
    return f"{status} {body[:200].decode(errors='replace')}"


async def carry_out(order: Order) -> Outcome:
    """Send until time or number is used up."""
    request = request_of(order)
    address = urlsplit(order.url)
    host, port = address.hostname or "", address.port or 80
    latencies: list[float] = []
    failures: list[str] = []
    begun = time.perf_counter()
    left = order.requests

    async def client() -> None:
        nonlocal left
        connection: Connection | None = None
        while left > 0 and time.perf_counter() - begun < order.seconds:
            left -= 1
            sent = time.perf_counter()
            try:
                if connection is None:
                    loop = asyncio.get_running_loop()
                    _, connection = await loop.create_connection(Connection, host, port)
                problem = wrong(order, *await connection.post(request))
            except (OSError, httptools.HttpParserError) as error:
                problem = f"{type(error).__name__} {error}"
                if connection is not None:
                    connection.close()
                    connection = None
            if problem is None:
                latencies.append(time.perf_counter() - sent)
            else:
                failures.append(problem)
        if connection is not None:
            connection.close()

    await asyncio.gather(*(client() for _ in range(order.concurrency)))
    return Outcome(latencies, time.perf_counter() - begun, failures)


def main() -> None:
    """Carry out one order after the other until standard input ends."""
    # a file of its own: standard output may be unbuffered, where a signal cuts what is written short
    with open(sys.stdout.fileno(), "w", encoding="utf-8", closefd=False) as told:
        for line in sys.stdin:
            outcome = uvloop.run(carry_out(Order(**json.loads(line))))
            print(json.dumps(asdict(outcome)), file=told, flush=True)


if __name__ == "__main__":
    main()
