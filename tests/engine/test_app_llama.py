"""llama-server's transcription API on a real engine with a Whisper model."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support import engine_server
from support.engine_server import CASES, EngineServer

CLIP = CASES / "B14_stream_me.wav"
TRANSLATIONS = "/v1/audio/translations"


@pytest.fixture(scope="module")
def translator() -> Iterator[EngineServer]:
    with engine_server.running("-m", "base") as server:
        yield server


def refused(answer: httpx.Response, message: str, status: int = 400) -> None:
    error = {"code": status, "message": message, "type": "invalid_request_error"}
    assert (answer.status_code, answer.json()) == (status, {"error": error})
    assert answer.headers["content-type"] == "application/json; charset=utf-8"


def test_done_object(llama_engine: EngineServer) -> None:
    answer = llama_engine.post(CLIP)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.headers["server"] == "llama.cpp"
    assert answer.headers["access-control-allow-origin"] == ""
    body = answer.json()
    assert list(body) == ["type", "text", "usage"]
    assert body["type"] == "transcript.text.done"
    assert "kitchen" in body["text"]
    usage = body["usage"]
    assert list(usage) == ["type", "input_tokens", "output_tokens", "total_tokens", "input_tokens_details"]
    assert usage["input_tokens"] > 1500
    assert usage["output_tokens"] > 3
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["input_tokens_details"] == {"cached_tokens": 0}


def test_stream(llama_engine: EngineServer) -> None:
    answer = llama_engine.post(CLIP, stream="true")
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["x-accel-buffering"] == "no"
    assert "cache-control" not in answer.headers
    frames = answer.text.split("\n\n")
    assert frames[-2:] == ["data: [DONE]", ""]
    *deltas, done = [json.loads(frame.removeprefix("data: ")) for frame in frames[:-2]]
    assert {event["type"] for event in deltas} == {"transcript.text.delta"}
    assert "".join(event["delta"] for event in deltas) == done["text"]
    assert llama_engine.post(CLIP, stream="True").json()["type"] == "transcript.text.done"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"response_format": "text"}, "Only 'json' response_format is supported for transcription"),
        ({"temperature": "abc"}, "stof"),
        ({"temperature": "abc", "max_tokens": "abc"}, "stoul"),
        ({"max_tokens": "-2"}, "Field 'max_tokens': Value must be between -1 <= value <= 2147483647, but got -2"),
        ({"top_p": "1"}, "Field 'top_p': [json.exception.type_error.302] type must be number, but is string"),
        ({"top_logprobs": "1"}, "top_logprobs requires logprobs to be set to true"),
        ({"grammar": "root ::= x"}, "Field 'grammar': not supported by the loaded model"),
    ],
)
def test_wrong_fields(llama_engine: EngineServer, fields: dict[str, Any], message: str) -> None:
    refused(llama_engine.post(CLIP, **fields), message)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"top_p": "1"}, "Failed to load image or audio file"),
        ({"temperature": "abc"}, "stof"),
        ({"top_logprobs": "1"}, "top_logprobs requires logprobs to be set to true"),
    ],
)
def test_a_bad_clip_wins_over_late_fields_only(
    llama_engine: EngineServer, fields: dict[str, Any], message: str
) -> None:
    refused(llama_engine.post("B06_text_named.mp3", **fields), message)


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": "0.2abc", "max_tokens": "40x"},
        {"temperature": "inf", "max_tokens": "4"},
        {"max_tokens": "-1"},
        {"response_format": ["json", "srt"]},
        {"model": "anything", "unknown": "x", "language": "EN"},
    ],
)
def test_accepted_fields(llama_engine: EngineServer, fields: dict[str, Any]) -> None:
    answer = llama_engine.post(CLIP, **fields)
    assert answer.status_code == 200
    assert answer.json()["type"] == "transcript.text.done"


def test_max_tokens_and_stop(llama_engine: EngineServer) -> None:
    one = llama_engine.post(CLIP, max_tokens="0").json()
    assert one["usage"]["output_tokens"] == 1
    whole = llama_engine.post(CLIP).json()["text"]
    stopped = llama_engine.post(CLIP, stop=" in the").json()["text"]
    assert stopped == whole.partition(" in the")[0]


def test_one_sample_is_refused(llama_engine: EngineServer) -> None:
    header = bytes.fromhex("524946462600000057415645666d74201000000001000100803e0000007d00000200100064617461")
    refused(llama_engine.post_bytes(header + b"\x02\x00\x00\x00\x01\x00"), "Failed to load image or audio file")
    assert llama_engine.post_bytes(header + b"\x04\x00\x00\x00\x01\x00\x01\x00").json()["text"] == ""


def test_unknown_language_lists_the_allowed(llama_engine: EngineServer) -> None:
    answer = llama_engine.post(CLIP, language="klingon")
    assert answer.status_code == 400
    assert "klingon" in answer.json()["error"]["message"]
    english_only = llama_engine.post(CLIP, language="es")
    assert english_only.status_code == 400
    assert "base" in english_only.json()["error"]["message"]


def test_bodies_that_are_no_form(llama_engine: EngineServer) -> None:
    url = llama_engine.url + "/v1/audio/transcriptions"
    refused(httpx.post(url, json={}), "No input file found for transcription")
    empty = httpx.post(url)
    assert empty.json()["error"]["message"].startswith(
        "[json.exception.parse_error.101] parse error at line 1, column 1"
    )
    broken = httpx.post(url, content=b"x", headers={"content-type": "multipart/form-data; boundary=b"})
    assert broken.status_code == 400
    assert broken.json()["error"]["message"].startswith("invalid multipart form-data: ")
    packed = httpx.post(url, content=b"x", headers={"content-encoding": "gzip"})
    assert packed.status_code == 415


def test_no_chat_model(llama_engine: EngineServer) -> None:
    for path in ("/v1/chat/completions", "/chat/completions"):
        answer = httpx.post(llama_engine.url + path, json={"messages": []})
        assert answer.status_code == 503
        error = answer.json()["error"]
        assert (error["code"], error["type"]) == (503, "unavailable_error")
        assert "No chat model is loaded" in error["message"]


def test_models(llama_engine: EngineServer) -> None:
    (model,) = httpx.get(llama_engine.url + "/models").json()["data"]
    assert model["meta"]["formats"] == ["json"]
    assert model["meta"]["limits"]["max_seconds"] == 600.0
    assert model["meta"]["limits"]["max_bytes"] == 26214400


def test_translations(translator: EngineServer) -> None:
    spanish = "B18_spanish.wav"
    plain = translator.post(spanish, TRANSLATIONS)
    assert list(plain.json()) == ["text"]
    assert "coffee" in plain.json()["text"].lower()
    text = translator.post(spanish, "/audio/translations", response_format=" Text ", language="es", temperature=" ")
    assert text.headers["content-type"].startswith("text/plain")
    assert "coffee" in text.text.lower()
    verbose = translator.post(spanish, TRANSLATIONS, response_format="verbose_json").json()
    assert list(verbose) == ["text", "language", "duration"]
    assert verbose["language"] == "es"
    assert verbose["duration"] == pytest.approx(3.75, abs=0.01)


def test_translations_refused_before_the_model_runs(translator: EngineServer) -> None:
    refused(
        translator.post("B18_spanish.wav", TRANSLATIONS, response_format="srt"),
        "response_format 'srt' is not supported; supported formats are: json, text, verbose_json",
    )
    refused(translator.post("B18_spanish.wav", TRANSLATIONS, temperature="hot"), "invalid 'temperature' value: hot")
    empty = httpx.post(translator.url + TRANSLATIONS, files={"other": ("x.wav", b"")})
    refused(empty, "missing required 'file' part in multipart form-data")


def test_an_english_model_does_not_translate(llama_engine: EngineServer) -> None:
    answer = llama_engine.post(CLIP, TRANSLATIONS)
    assert answer.status_code == 400
    assert "base" in answer.json()["error"]["message"]
