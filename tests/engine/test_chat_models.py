"""Audio chat models behind the transcription route of a running engine."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest

from fakes.chat_server import ChatServer, Exchange, chunk, listed, serving, spoken
from openproxy.engine.worker_messages import ModelSettings
from support.digits import FOLDER, GGUF, LLAMA_RIGHT, PROJECTOR
from support.engine_server import EngineServer, running

KEY = "test-key-0123456789abcdef"
CLIP = LLAMA_RIGHT[1]


@pytest.fixture(scope="module")
def chat_server() -> Iterator[ChatServer]:
    pages = {f"/v1/models?secret={KEY}": (200, listed("a/model", "other"))}
    with serving(ChatServer(pages=pages)) as server:
        yield server


@pytest.fixture(scope="module")
def engine(chat_server: ChatServer) -> Iterator[EngineServer]:
    """An engine in front of a chat server."""
    with running("-m", f"{chat_server.url}/v1?secret={KEY}#a/model", "--parallel", "1") as server:
        yield server


def _events(server: EngineServer, **fields: str) -> list[str]:
    answer = server.post(CLIP.path, stream="true", **fields)
    assert answer.headers["Content-Type"] == "text/event-stream"
    return [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]


def test_a_gguf_with_its_flags_is_served() -> None:
    template = str(FOLDER / "model" / "chat_template.jinja")
    flags = [
        "--mmproj",
        str(PROJECTOR),
        "--ctx-size",
        "1024",
        "--window-seconds",
        "20",
        "--chat-template-file",
        template,
    ]
    with running("-m", str(GGUF), *flags) as server:
        (model,) = httpx.get(server.url + "/v1/models").json()["data"]
        assert (model["id"], model["meta"]["kind"]) == ("digits.gguf", "chat")
        answer = server.post(CLIP.path, language="de").json()
        assert (answer["text"], answer["usage"]["input_tokens"]) == (CLIP.de, 769)
        *deltas, done, end = _events(server)
        assert [json.loads(delta)["delta"] for delta in deltas] == ["five", " six"]
        assert (json.loads(done)["text"], end) == (CLIP.en, "[DONE]")
        refused = server.post(CLIP.path, prompt="hello " * 2000)
        assert refused.status_code == 400
        assert refused.json()["error"]["type"] == "exceed_context_size_error"
        assert refused.json()["error"]["n_ctx"] == 1024


def test_a_chat_server_is_served_under_the_name_of_its_model(engine: EngineServer, chat_server: ChatServer) -> None:
    chat_server.answer = lambda exchange: exchange.send_events(*spoken("<think>hm</think>", "five", " six"))
    (model,) = httpx.get(engine.url + "/v1/models").json()["data"]
    assert model["id"] == "a/model"
    assert engine.post(CLIP.path).json()["text"] == "five six"
    *deltas, done, end = _events(engine)
    assert [json.loads(delta)["delta"] for delta in deltas] == ["five", " six"]
    assert (json.loads(done)["text"], end) == ("five six", "[DONE]")
    assert chat_server.requests[-1][1] == f"/v1/chat/completions?secret={KEY}"
    assert KEY not in "".join(engine.lines).partition("try:")[2]


@pytest.mark.parametrize(
    ("status", "headers", "retry"), [(429, {"Retry_After": "9"}, "9"), (503, {}, "1"), (401, {}, None), (400, {}, None)]
)
def test_the_errors_of_a_chat_server_are_carried(
    engine: EngineServer, chat_server: ChatServer, status: int, headers: dict[str, str], retry: str | None
) -> None:
    document = {"error": {"message": f"not now {KEY}"}}
    chat_server.answer = lambda exchange: exchange.send_json(status, document, **headers)
    for fields in ({}, {"stream": "true"}):
        answer = engine.post(CLIP.path, **fields)
        assert (answer.status_code, answer.headers.get("Retry-After")) == (status, retry)
        assert "not now [redacted]" in answer.json()["error"]["message"]


def test_an_answer_that_breaks_off_ends_with_one_error(engine: EngineServer, chat_server: ChatServer) -> None:
    chat_server.answer = lambda exchange: exchange.send_events(*spoken("five", " six")[:3], done=False)
    *deltas, last = map(json.loads, _events(engine))
    assert [delta["delta"] for delta in deltas] == ["five", " six"]
    assert last["error"]["code"] == 502
    assert last["error"]["message"] == "The chat server ended its stream before the answer was complete"
    assert engine.post(CLIP.path).status_code == 502


def test_a_client_that_leaves_stops_the_chat_server(engine: EngineServer, chat_server: ChatServer) -> None:
    left = threading.Event()

    def answer(exchange: Exchange) -> None:
        exchange.send_head(200, "text/event-stream")
        try:
            while True:
                exchange.send_event(chunk({"content": "more "}))
                time.sleep(0.02)
        except OSError:
            left.set()

    chat_server.answer = answer
    with (
        suppress(httpx.HTTPError),
        httpx.stream(
            "POST",
            engine.url + "/v1/audio/transcriptions",
            files={"file": CLIP.path.read_bytes()},
            data={"stream": "true"},
        ) as reply,
    ):
        assert next(reply.iter_lines()).startswith('data: {"type":"transcript.text.delta"')
    assert left.wait(10)
    chat_server.answer = lambda exchange: exchange.send_events(*spoken("again"))
    assert engine.post(CLIP.path).json()["text"] == "again"


def test_a_client_that_leaves_before_the_first_piece_stops_the_chat_server(
    engine: EngineServer, chat_server: ChatServer
) -> None:
    asked, go = threading.Event(), threading.Event()

    def answer(exchange: Exchange) -> None:
        asked.set()
        go.wait(20)
        exchange.send_events(*spoken("late"))

    chat_server.answer = answer
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(
            engine.url + "/v1/audio/transcriptions", files={"file": CLIP.path.read_bytes()}, timeout=httpx.Timeout(1.0)
        )
    assert asked.is_set()
    chat_server.answer = lambda exchange: exchange.send_events(*spoken("again"))
    started = time.monotonic()
    assert engine.post(CLIP.path).json()["text"] == "again"  # there is one slot
    assert time.monotonic() - started < 5
    go.set()


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("http://host:8000/v1?key=secret#a/model", "a/model"),
        ("https://user:secret@host:8000/v1?key=secret", "host:8000"),
        ("HTTP://host", "host"),
    ],
)
def test_nothing_of_a_url_but_model_or_host_is_shown(reference: str, name: str) -> None:
    assert ModelSettings(reference).name == name
