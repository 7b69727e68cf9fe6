"""The chat route of a running engine, with models that run through llama.cpp."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import openai
import pytest

from fakes.chat_server import ChatServer, Exchange, chunk, serving, spoken
from support.chat_engine import CHAT, asked, digits, heard, recording
from support.digits import LLAMA_RIGHT
from support.engine_server import EngineServer, running
from support.make_oracle_models import models

CLIP = LLAMA_RIGHT[1]
SPOKEN = CLIP.path.read_bytes()
HELLO = [{"role": "user", "content": "Tell me a long story."}]


@pytest.fixture(scope="module")
def engine() -> Iterator[EngineServer]:
    with digits("--parallel", "1", "--ctx-size", "1024") as server:
        yield server


@pytest.fixture(scope="module")
def talker() -> Iterator[EngineServer]:
    """A language model without an audio encoder; it makes many tokens."""
    with running("-m", str(models()[0]), "--parallel", "1", "--ctx-size", "512", "--alias", "talker") as server:
        yield server


def events(answer: httpx.Response) -> list[Any]:
    assert answer.headers["content-type"] == "text/event-stream"
    *frames, end = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    assert end == "[DONE]"
    return [json.loads(frame) for frame in frames]


@pytest.mark.parametrize("path", [CHAT, "/chat/completions"])
def test_a_recording_is_answered_with_its_words(engine: EngineServer, path: str) -> None:
    answer = asked(engine, heard(SPOKEN), path).json()
    assert list(answer) == ["id", "object", "created", "model", "choices", "usage"]
    assert answer["id"].startswith("chatcmpl-")
    assert abs(answer["created"] - time.time()) < 120
    assert (answer["object"], answer["model"]) == ("chat.completion", "digits.gguf")
    message = {"role": "assistant", "content": CLIP.en}
    assert answer["choices"] == [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}]
    usage = answer["usage"]
    details = usage.pop("prompt_tokens_details")
    assert usage == {"prompt_tokens": 764, "completion_tokens": 3, "total_tokens": 767}
    assert details["audio_tokens"] == 752
    assert 0 <= details["cached_tokens"] < 764


def test_the_same_answer_in_chunks(engine: EngineServer) -> None:
    chunks = events(asked(engine, heard(SPOKEN), stream=True, stream_options={"include_usage": True}))
    assert {(chunk["object"], chunk["model"]) for chunk in chunks} == {("chat.completion.chunk", "digits.gguf")}
    assert len({(chunk["id"], chunk["created"]) for chunk in chunks}) == 1
    *told, last = chunks
    choices = [chunk["choices"][0] for chunk in told]
    first, second = CLIP.en.split()
    assert [choice["delta"] for choice in choices] == [
        {"role": "assistant", "content": ""},
        {"content": first},
        {"content": f" {second}"},
        {},
    ]
    assert [choice["finish_reason"] for choice in choices] == [None, None, None, "stop"]
    assert [chunk["usage"] for chunk in told] == [None] * 4
    assert (last["choices"], last["usage"]["total_tokens"]) == ([], 767)


def test_chunks_say_nothing_of_usage_unless_asked(engine: EngineServer) -> None:
    chunks = events(asked(engine, heard(SPOKEN), stream=True))
    assert all("usage" not in chunk and chunk["choices"] for chunk in chunks)


@pytest.mark.parametrize(
    ("fields", "text", "reason", "tokens"),
    [
        ({"max_tokens": 1}, CLIP.en.split()[0], "length", 1),
        ({"max_tokens": 9, "max_completion_tokens": 1}, CLIP.en.split()[0], "length", 1),
        ({"max_tokens": 0}, CLIP.en.split()[0], "length", 1),
        ({"stop": " " + CLIP.en.split()[1]}, CLIP.en.split()[0], "stop", 2),
        ({"grammar": 'root ::= "nine"'}, "nine", "stop", 2),
        ({"temperature": 1, "top_k": 1, "seed": 7}, CLIP.en, "stop", 3),
    ],
)
def test_settings_reach_the_model(
    engine: EngineServer, fields: dict[str, Any], text: str, reason: str, tokens: int
) -> None:
    answer = asked(engine, heard(SPOKEN), **fields).json()
    (choice,) = answer["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == (text, reason)
    assert answer["usage"]["completion_tokens"] == tokens


@pytest.mark.parametrize(
    ("messages", "fields", "message"),
    [
        ([], {}, "'messages' must be an array of at least one message"),
        (heard(b"no audio"), {"stream": True}, "Failed to load image or audio file"),
        (heard(b""), {}, "Failed to load image or audio file"),
        (heard(SPOKEN), {"tools": [1]}, "Failed to parse tools: Missing tool type: 1; tools = [\n  1\n]"),
        (heard(SPOKEN), {"response_format": {"type": "x"}}, 'response_format type must be one of "text" or "json_object", but got: x'),
        (heard(SPOKEN), {"presence_penalty": 10**400}, None),
        ([{"role": "assistant", "tool_calls": [1]}], {}, None),
    ],
)  # fmt: skip
def test_bad_requests_are_400_in_the_envelope(
    engine: EngineServer, messages: Any, fields: dict[str, Any], message: str | None
) -> None:
    answer = asked(engine, messages, **fields)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    error = answer.json()["error"]
    assert list(error) == ["code", "message", "type"]
    assert (error["code"], error["type"]) == (400, "invalid_request_error")
    assert message is None or error["message"] == message


def test_what_does_not_fit_the_context_says_both_sizes(engine: EngineServer) -> None:
    answer = asked(engine, [{"role": "user", "content": "five " * 1100}], stream=True)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert list(error) == ["code", "message", "type", "n_prompt_tokens", "n_ctx"]
    assert (error["code"], error["type"], error["n_ctx"]) == (400, "exceed_context_size_error", 1024)
    assert error["n_prompt_tokens"] > 1024


def test_all_recordings_of_a_request_are_within_the_limit(engine: EngineServer) -> None:
    silence = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data\xff\xff\xff\xff"
    half = [recording(silence + b"\x80" * (8000 * 301))]
    answer = asked(engine, [{"role": "user", "content": half}, {"role": "user", "content": half}])
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "audio is more than 600.0 seconds long, maximum is 600 seconds"


def test_the_official_client_reads_both(engine: EngineServer) -> None:
    client = openai.OpenAI(base_url=engine.url + "/v1", api_key="none", max_retries=0)
    whole = client.chat.completions.create(model="digits.gguf", messages=heard(SPOKEN))
    assert (whole.choices[0].message.content, whole.usage.prompt_tokens) == (CLIP.en, 764)
    with client.chat.completions.stream(
        model="digits.gguf", messages=heard(SPOKEN), stream_options={"include_usage": True}
    ) as stream:
        final = stream.get_final_completion()
    assert (final.choices[0].message.content, final.choices[0].finish_reason) == (CLIP.en, "stop")
    assert final.usage.total_tokens == 767


def test_a_model_of_text_chats_and_does_not_transcribe(talker: EngineServer) -> None:
    answer = asked(talker, HELLO, max_tokens=4).json()
    assert (answer["model"], answer["usage"]["completion_tokens"]) == ("talker", 4)
    assert answer["choices"][0]["message"]["content"]
    error = {"code": 501, "message": "The current model does not support audio input.", "type": "not_supported_error"}
    refused = [
        asked(talker, heard(SPOKEN)),
        talker.post(CLIP.path),
        talker.post(CLIP.path, response_format="srt", temperature="x"),
        httpx.post(talker.url + "/v1/audio/transcriptions", data={"temperature": "x"}, files={"a": b"b"}),
        httpx.post(talker.url + "/v1/audio/transcriptions", content=b"no json"),
    ]
    assert [(one.status_code, one.json()) for one in refused] == [(501, {"error": error})] * 5
    (model,) = httpx.get(talker.url + "/v1/models").json()["data"]
    meta = model["meta"]
    assert (model["id"], meta["kind"], meta["modalities"]) == (
        "talker",
        "chat",
        {"input": ["text"], "output": ["text"]},
    )
    assert (meta["formats"], meta["limits"]["context"]) == ([], 512)


def test_chunks_leave_while_the_answer_is_made(talker: EngineServer) -> None:
    arrivals = []
    body = {"messages": HELLO, "stream": True, "max_tokens": 80, "temperature": 0}
    with httpx.stream("POST", talker.url + CHAT, json=body, timeout=120) as answer:
        arrivals.extend(time.monotonic() for line in answer.iter_lines() if line.startswith("data: {"))
    assert len(arrivals) > 40
    beginning, middle, end = arrivals[0], arrivals[len(arrivals) // 2], arrivals[-1]
    assert beginning < middle < end
    assert end - beginning > 0.1
    assert 0.1 < (middle - beginning) / (end - beginning) < 0.9


def test_a_whisper_model_does_not_chat(llama_engine: EngineServer) -> None:
    answer = asked(llama_engine, HELLO)
    assert answer.status_code == 503
    assert answer.json()["error"] == {
        "code": 503,
        "message": "No chat model is loaded: 'tiny.en' is a speech-to-text model, served on /v1/audio/transcriptions",
        "type": "unavailable_error",
    }


def test_an_answer_that_breaks_off_ends_with_one_error_and_no_end_mark() -> None:
    fake = ChatServer(answer=lambda exchange: exchange.send_events(*spoken("one", " two")[:3], done=False))
    with serving(fake) as server, running("-m", f"{server.url}#stub") as engine:
        answer = asked(engine, HELLO, stream=True)
        frames = [json.loads(line.removeprefix("data: ")) for line in answer.text.split("\n\n") if line]
        assert answer.status_code == 200
        assert [frame["choices"][0]["delta"]["content"] for frame in frames[:-1]] == ["", "one", " two"]
        assert list(frames[-1]) == ["error"]
        assert (frames[-1]["error"]["code"], frames[-1]["error"]["type"]) == (502, "server_error")
        assert asked(engine, HELLO).status_code == 502


def test_thinking_and_calls_of_tools_are_told() -> None:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":'}}
    more = {"index": 0, "function": {"arguments": "1}"}}
    answer = [
        chunk({"role": "assistant", "reasoning_content": "Let me"}),
        chunk({"reasoning_content": " see"}),
        chunk({"tool_calls": [call]}),
        chunk({"tool_calls": [more]}),
        chunk({}, "tool_calls"),
    ]
    fake = ChatServer(answer=lambda exchange: exchange.send_events(*answer))
    with serving(fake) as server, running("-m", f"{server.url}#stub") as engine:
        tools = [{"type": "function", "function": {"name": "add"}}]
        (choice,) = asked(engine, HELLO, tools=tools).json()["choices"]
        assert choice["finish_reason"] == "tool_calls"
        assert choice["message"] == {
            "role": "assistant",
            "content": None,
            "reasoning_content": "Let me see",
            "tool_calls": [{"type": "function", "function": {"name": "add", "arguments": '{"a":1}'}, "id": "c1"}],
        }
        deltas = [frame["choices"][0]["delta"] for frame in events(asked(engine, HELLO, tools=tools, stream=True))]
        assert deltas == [
            {"role": "assistant", "content": ""},
            {"reasoning_content": "Let me"},
            {"reasoning_content": " see"},
            {"tool_calls": [call]},
            {"tool_calls": [more]},
            {},
        ]
        assert fake.requests[-1][3]["tools"] == tools


def test_a_client_that_leaves_stops_the_answer() -> None:
    left = threading.Event()

    def talk(exchange: Exchange) -> None:
        exchange.send_head(200, "text/event-stream")
        try:
            while True:
                exchange.send_event(chunk({"content": "more "}))
                time.sleep(0.02)
        except OSError:
            left.set()

    fake = ChatServer(answer=talk)
    with serving(fake) as server, running("-m", f"{server.url}#stub", "--parallel", "1") as engine:
        body = {"messages": HELLO, "stream": True}
        with (
            suppress(httpx.HTTPError),
            httpx.stream("POST", engine.url + CHAT, json=body, timeout=30) as answer,
        ):
            assert next(answer.iter_lines()).startswith("data: ")
        assert left.wait(10)
        fake.answer = lambda exchange: exchange.send_events(*spoken("again"))
        assert asked(engine, HELLO).json()["choices"][0]["message"]["content"] == "again"


def test_what_the_chat_server_says_of_waiting_is_passed_on() -> None:
    busy = {"error": {"message": "slow down"}}
    fake = ChatServer(answer=lambda exchange: exchange.send_json(429, busy, Retry_After="7"))
    with serving(fake) as server, running("-m", f"{server.url}#stub", "--api", "openai") as engine:
        answer = asked(engine, HELLO, stream=True)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
        assert "slow down" in answer.json()["error"]["message"]
