"""Answers of chat servers that are written in other ways than OpenAI's, and still say the same."""

from collections.abc import Iterator

import pytest

from fakes.chat_server import ChatServer, Exchange, serving
from openproxy.engine.models.chat import Ask, ChatSettings, Delta, Message
from openproxy.engine.models.chat_remote import RemoteChat
from openproxy.errors import UpstreamError

ONE = b'{"choices": [{"index": 0, "delta": {"content": "seven "}, "finish_reason": null}]}'
TWO = b'{"choices": [{"index": 0, "delta": {"content": "eight"}, "finish_reason": "stop"}]}'
EVENTS = b"data: " + ONE + b"\n\ndata: " + TWO + b"\n\ndata: [DONE]\n\n"
WHOLE = b'{"choices": [{"index": 0, "message": {"content": "seven eight"}, "finish_reason": "stop"}]}'


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving(ChatServer()) as server:
        yield server


def answered(server: ChatServer, body: bytes, content_type: str = "text/event-stream", size: int = 1 << 20) -> str:
    """The text of an answer with this body, which arrives in pieces of `size` bytes."""

    def answer(exchange: Exchange) -> None:
        exchange.send_head(200, content_type)
        for at in range(0, len(body), size):
            exchange.send_event(body[at : at + size])

    server.answer = answer
    chat = RemoteChat(server.url, ChatSettings())
    try:
        steps = chat.stream([Message("user", ("hi",))], Ask())
        return "".join(step.text for step in steps if isinstance(step, Delta))
    finally:
        chat.close()


WRITTEN = {
    "comments and fields": b": ping\n\nevent: message\nid: 1\nretry: 5\n" + EVENTS.replace(b"\n\n", b"\n\n:\n\n"),
    "CR": EVENTS.replace(b"\n", b"\r"),
    "CRLF": EVENTS.replace(b"\n", b"\r\n"),
    "byte order mark": b"\xef\xbb\xbf" + EVENTS,
    "no space": EVENTS.replace(b": ", b":"),
    "several lines": EVENTS.replace(b", ", b",\ndata: "),
    "no empty lines": EVENTS.replace(b"\n\n", b"\n"),
    "keep-alives without data": b"data:\n\n" + EVENTS.replace(b"\n\n", b"\n\ndata\n\ndata: \n\n"),
    "no end mark": EVENTS.removesuffix(b"data: [DONE]\n\n"),
    "no choices": b'data: {}\n\ndata: {"choices": null}\n\ndata: {"choices": [{"delta": null}]}\n\n' + EVENTS,
    "index null": EVENTS.replace(b'"index": 0', b'"index": null'),
    "parts": EVENTS.replace(b'"seven "', b'[{"type": "text", "text": "seven "}, {"type": "thinking"}]'),
}


@pytest.mark.parametrize("size", [1, 5, 1 << 20])
@pytest.mark.parametrize("name", WRITTEN)
def test_events_are_read_however_they_are_written(server: ChatServer, name: str, size: int) -> None:
    assert answered(server, WRITTEN[name], size=size) == "seven eight"


@pytest.mark.parametrize("content_type", ["application/json", "text/html", "text/plain", "application/octet-stream"])
@pytest.mark.parametrize("body", [EVENTS, WHOLE], ids=["events", "json"])
def test_the_body_counts_and_not_what_it_is_called(server: ChatServer, body: bytes, content_type: str) -> None:
    if body == WHOLE and content_type == "text/html":
        with pytest.raises(UpstreamError, match="HTML page"):
            answered(server, body, content_type)
    else:
        assert answered(server, body, content_type) == "seven eight"


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b'event: error\ndata: {"message": "out of memory", "code": 503}\n\n', 503, "out of memory"),
        (b'error: {"code": 400, "message": "bad audio", "type": "x"}\n\n', 400, "bad audio"),
        (b'data: {"error": "boom"}\n\n', 502, "boom"),
        (b"data: {\ndata: half\n\n", 502, "The chat server answered something that is not a JSON object"),
        (b"<html><title>Sign in</title></html>", 502, "The chat server answered with an HTML page; is its URL the one of its API?"),
        (b"", 502, "The chat server answered without a stream of events"),
    ],
)  # fmt: skip
def test_errors_are_known_however_they_are_written(server: ChatServer, body: bytes, status: int, message: str) -> None:
    with pytest.raises(UpstreamError) as caught:
        answered(server, body)
    assert (caught.value.status, caught.value.message) == (status, message)
