"""The protocol under a real uvicorn, spoken to over a socket."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from openproxy.web.protocol import BoundedProtocol

REFUSED = {
    "error": {
        "message": "Invalid HTTP request received.",
        "type": "invalid_request_error",
        "param": None,
        "code": "invalid_http",
    }
}


async def answers_its_body(scope: Scope, receive: Receive, send: Send) -> None:
    """Says what the body was, a little later; on the path /late it begins to read late."""
    if scope["path"] == "/late":
        await asyncio.sleep(0.2)
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    await asyncio.sleep(0.05)
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % (len(body) + 5))]}
    )
    await send({"type": "http.response.body", "body": b"body:" + body})


@pytest.fixture
async def port() -> AsyncIterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(answers_its_body, http=BoundedProtocol, lifespan="off", ws="none", log_config=None)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve([listener]))
    yield listener.getsockname()[1]
    server.should_exit = True
    await serving


async def spoken(port: int, *packets: bytes) -> bytes:
    """Everything that comes back until the other side closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for packet in packets:
        writer.write(packet)
        await asyncio.sleep(0.02)
    answer = b""
    with suppress(TimeoutError):
        answer = await asyncio.wait_for(reader.read(-1), 3)
    writer.close()
    return answer


@pytest.mark.parametrize(
    "sent", [b"nonsense\r\n\r\n", b"FOO / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"\x16\x03\x01\x02"]
)
async def test_what_is_no_http_is_answered_in_the_envelope(port: int, sent: bytes) -> None:
    head, _, body = (await spoken(port, sent)).partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[0] == b"HTTP/1.1 400 Bad Request"
    assert b"content-type: application/json" in head
    assert b"content-length: %d" % len(body) in head
    assert json.loads(body) == REFUSED


async def test_a_body_without_a_length_ends_the_connection_after_the_answer(port: int) -> None:
    request = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\n\r\n"
    for packets in ((request + b"--x\r\nbody",), (request, b"--x\r\nbody", b"more")):
        answer = await spoken(port, *packets)
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answer.endswith(b"\r\n\r\nbody:")
        assert answer.count(b"HTTP/1.1 ") == 1


async def test_a_broken_body_is_refused_at_once(port: int) -> None:
    chunked = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    answer = await spoken(port, chunked, b"zz\r\n")
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert (await spoken(port, chunked + b"0\r\n\r\n", b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")).count(
        b"200 OK"
    ) == 2


@pytest.mark.parametrize("path", [b"/", b"/late"])
@pytest.mark.parametrize("sizes", [(1, 2, 3), (100_000, 1, 70_000), (300_000, 300_000)])
async def test_a_body_arrives_whole_and_in_order(port: int, path: bytes, sizes: tuple[int, ...]) -> None:
    pieces = [bytes([65 + number]) * size for number, size in enumerate(sizes)]
    head = b"POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % (path, sum(sizes))
    answer = await spoken(port, head, *pieces)
    assert answer.partition(b"\r\n\r\n")[2] == b"body:" + b"".join(pieces)


async def test_chunks_that_come_in_one_packet_are_one_body(port: int) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = await spoken(port, head + b"5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\n\r\n")
    assert answer.partition(b"\r\n\r\n")[2] == b"body:hello world"
