"""Chat servers that refuse, break off or fall silent."""

import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from fakes.chat_server import ChatServer, Exchange, spoken
from openproxy.errors import ContextExceeded, OpenProxyError, TimedOut, UpstreamError
from support.remote_chat import KEY, Answer, answers_json, asked, failed, remote, served


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with served() as server:
        yield server


def _page(exchange: Exchange) -> None:
    exchange.send_head(200, "text/html; charset=utf-8")
    exchange.wfile.write(b"<!doctype html><title>Welcome</title>")


def _error_page(exchange: Exchange) -> None:
    exchange.send_head(502, "text/html")
    exchange.wfile.write(b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>")


def _reset(exchange: Exchange) -> None:
    exchange.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    exchange.connection.close()


REFUSALS: list[tuple[Answer, type[OpenProxyError], int, str, int | None]] = [
    (
        answers_json(401, {"error": {"message": f"Incorrect API key: {KEY}"}}),
        UpstreamError,
        401,
        "The chat server refuses the key of this engine (Incorrect API key: [redacted]); it is set with "
        "OPENPROXY_ENGINE_UPSTREAM_KEY",
        None,
    ),
    (answers_json(429, {"error": {"message": "slow down"}}, Retry_After="7"), UpstreamError, 429, "slow down", 7),
    (answers_json(503, {"error": {"message": "Loading model", "code": 503}}), UpstreamError, 503, "Loading model", 1),
    (
        answers_json(503, {"error": {"message": "Loading model"}}, Retry_After="3"),
        UpstreamError,
        503,
        "Loading model",
        3,
    ),
    (answers_json(400, {"error": {"message": "bad audio"}}), UpstreamError, 400, "bad audio", None),
    (
        answers_json(400, {"object": "error", "message": "no audio here", "code": 400}),
        UpstreamError,
        400,
        "no audio here",
        None,
    ),
    (
        answers_json(
            400,
            {
                "error": {
                    "message": "This model's maximum context length is 512 tokens. However, you requested 900 tokens"
                }
            },
        ),
        ContextExceeded,
        400,
        "This model's maximum context length is 512 tokens. However, you requested 900 tokens",
        None,
    ),
    (_error_page, UpstreamError, 502, "502 Bad Gateway", None),
    (
        _page,
        UpstreamError,
        502,
        "The chat server answered with an HTML page; is its URL the one of its API?",
        None,
    ),
    (
        answers_json(302, {}, Location="http://127.0.0.1:9/elsewhere"),
        UpstreamError,
        502,
        "Request failed: the upstream redirects to another host, which is not followed",
        None,
    ),
    (_reset, UpstreamError, 502, "Request failed: ", None),
    (
        answers_json(200, ["not", "it"]),
        UpstreamError,
        502,
        "The chat server answered something that is not a JSON object",
        None,
    ),
    (
        lambda exchange: exchange.send_events(b'data: {"choices": ' + b"[" * 200 + b"]" * 200 + b"}\n\n"),
        UpstreamError,
        502,
        "The chat server answered JSON that is nested too deeply",
        None,
    ),
    (
        lambda exchange: exchange.send_events(b"data: {half\n\n"),
        UpstreamError,
        502,
        "The chat server answered something that is not a JSON object",
        None,
    ),
    (
        lambda exchange: exchange.send_events(done=False),
        UpstreamError,
        502,
        "The chat server answered without a stream of events",
        None,
    ),
    (
        lambda exchange: exchange.send_events({"error": {"message": "out of memory", "code": 500}}),
        UpstreamError,
        500,
        "out of memory",
        None,
    ),
]


@pytest.mark.parametrize(("answer", "kind", "status", "message", "retry"), REFUSALS, ids=range(len(REFUSALS)))
def test_a_refusal_is_carried(
    server: ChatServer, answer: Answer, kind: type[OpenProxyError], status: int, message: str, retry: int | None
) -> None:
    chat = remote(server)
    server.answer = answer
    text, error = failed(chat)
    assert (text, type(error), error.status, error.retry_after) == ("", kind, status, retry)
    assert error.message.startswith(message)
    server.answer = lambda exchange: exchange.send_events(*spoken("again"))
    assert asked(chat)[0] == "again"


BREAKS: list[tuple[Answer, int, str]] = [
    (
        lambda exchange: exchange.send_events(*spoken("one", " two")[:3], done=False),
        502,
        "The chat server ended its stream before the answer was complete",
    ),
    (
        lambda exchange: exchange.send_events(*spoken("one", " two")[:3], b'data: {"choices": [{"del', done=False),
        502,
        "The chat server ended its stream before the answer was complete",
    ),
    (
        lambda exchange: exchange.send_events(
            *spoken("one", " two")[:3], {"error": {"message": f"lost {KEY}", "code": 503}}
        ),
        503,
        "lost [redacted]",
    ),
    (
        lambda exchange: exchange.send_events(*spoken("one", " two")[:3], b"data: 5\n\n"),
        502,
        "The chat server answered",
    ),
]


@pytest.mark.parametrize(("answer", "status", "message"), BREAKS, ids=range(len(BREAKS)))
def test_a_stream_that_breaks_off_is_an_error_after_its_pieces(
    server: ChatServer, answer: Answer, status: int, message: str
) -> None:
    chat = remote(server)
    server.answer = answer
    text, error = failed(chat)
    assert (text, error.status) == ("one two", status)
    assert error.message.startswith(message)


def test_a_server_that_sends_nothing_is_given_up(server: ChatServer) -> None:
    gone = threading.Event()
    chat = remote(server, idle=0.6)
    server.answer = lambda _: gone.wait(20) and None
    started = time.monotonic()
    text, error = failed(chat)
    assert (text, type(error), error.status) == ("", TimedOut, 504)
    assert error.message == "The chat server sent nothing for 0.6 s"

    def stalls(exchange: Exchange) -> None:
        exchange.send_events(*spoken("one")[:2], done=False)
        gone.wait(20)

    server.answer = stalls
    text, error = failed(chat)
    assert (text, type(error)) == ("one", TimedOut)
    assert time.monotonic() - started < 15
    gone.set()
    server.answer = lambda exchange: exchange.send_events(*spoken("again"))
    assert asked(chat)[0] == "again"
