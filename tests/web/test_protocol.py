"""The protocol under a real uvicorn, spoken to over a socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from starlette.types import Receive, Scope, Send

from openproxy.web import protocol
from support.bounded import serving

REFUSED = {
    "error": {
        "message": "Invalid HTTP request received.",
        "type": "invalid_request_error",
        "param": None,
        "code": "invalid_http",
    }
}


async def answers_its_body(scope: Scope, receive: Receive, send: Send) -> None:
    """Says what the body was, a little later; on the path /late it begins to read late, on /early never."""
    if scope["path"] == "/late":
        await asyncio.sleep(0.2)
    if scope["path"] == "/early":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})
        return
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
    async with serving(answers_its_body) as port:
        yield port


async def spoken(port: int, *packets: bytes) -> bytes:
    """Everything that comes back until the other side closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for packet in packets:
        writer.write(packet)
        await asyncio.sleep(0.02)
    answer = b""
    with suppress(TimeoutError):
        answer = await asyncio.wait_for(reader.read(-1), 10)
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
    assert b"access-control-allow-origin: *" in head
    assert b"x-request-id: req_" in head
    assert json.loads(body) == REFUSED


async def test_a_head_without_end_is_answered_in_the_envelope_too(port: int) -> None:
    line = b"x-%d: " + b"a" * 9000 + b"\r\n"
    head, _, body = (await spoken(port, b"GET / HTTP/1.1\r\n", *(line % n for n in range(9)))).partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[0] == b"HTTP/1.1 431 Request Header Fields Too Large"
    assert b"x-request-id: req_" in head
    assert json.loads(body)["error"] == {
        "message": "Request head too large: the limit is 65536 bytes",
        "type": "api_error",
        "param": None,
        "code": "head_too_large",
    }


@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("offered", [b"h2c", b"websocket", b"TLS/1.2, other"])
async def test_an_offer_of_another_protocol_is_passed_over(
    port: int, offered: bytes, chunked: bool, split: bool
) -> None:
    framing, content = b"Content-Length: 5", b"hello"
    if chunked:
        framing, content = b"Transfer-Encoding: chunked", b"5\r\nhello\r\n0\r\n\r\n"
    head = b"POST /?a=%%20b HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: %s\r\n%s\r\n" % (
        offered,
        framing,
    )
    first = (head + b"HTTP2-Settings: AAMAAABk\r\n\r\n", content) if split else (head + b"\r\n" + content,)
    answer = await spoken(port, *first, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert [one.partition(b"\r\n\r\n")[2] for one in answer.split(b"HTTP/1.1 200 OK\r\n")[1:]] == [
        b"body:hello",
        b"body:",
    ]


@pytest.mark.parametrize(
    "sent",
    [
        (),
        (b"POST / HTTP/1.1\r\nHo",),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HT"),
        (b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n", b"x"),
    ],
    ids=["nothing", "half a head", "half a second head", "a body that is answered already"],
)
async def test_silence_that_nobody_waits_for_ends_the_connection(
    port: int, monkeypatch: pytest.MonkeyPatch, sent: tuple[bytes, ...]
) -> None:
    monkeypatch.setattr(protocol, "QUIET_SECONDS", 0.3)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for packet in sent:
        writer.write(packet)
        await asyncio.sleep(0.1)
    with suppress(ConnectionResetError):
        await asyncio.wait_for(reader.read(-1), 10)
    writer.close()


async def test_silence_while_an_application_works_is_its_own_matter(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "QUIET_SECONDS", 0.5)
    head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head + b"a")
    await asyncio.sleep(1.2)
    writer.write(b"b")
    assert (await reader.read(-1)).endswith(b"\r\n\r\nbody:ab")
    writer.close()


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
