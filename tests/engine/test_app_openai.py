"""OpenAI's transcription API on a real engine, through OpenAI's own client and over plain HTTP."""

import json
import wave
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from support.engine_server import CASES, EngineServer

CLIP = CASES / "B14_stream_me.wav"


def client_of(server: EngineServer, key: str = "unused") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0)


def silence(seconds: float, rate: int = 16_000) -> bytes:
    file = BytesIO()
    with wave.open(file, "wb") as out:
        out.setparams((1, 2, rate, 0, "NONE", ""))
        out.writeframes(bytes(2 * round(seconds * rate)))
    return file.getvalue()


def events_of(answer: httpx.Response) -> list[Any]:
    frames = answer.text.split("\n\n")
    assert frames[-1] == ""
    assert all(frame.startswith("data: ") for frame in frames[:-1])
    return [frame[6:] if frame == "data: [DONE]" else json.loads(frame[6:]) for frame in frames[:-1]]


def test_client_reads_every_format(openai_engine: EngineServer) -> None:
    create = client_of(openai_engine).audio.transcriptions.create
    plain = create(file=CLIP, model="whisper-1")
    assert "kitchen" in plain.text
    assert plain.usage is not None
    assert plain.usage.type == "duration"
    assert plain.usage.seconds == pytest.approx(2.29, abs=0.05)
    verbose = create(
        file=CLIP, model="whisper-1", response_format="verbose_json", timestamp_granularities=["word", "segment"]
    )
    assert verbose.words
    assert verbose.segments
    assert verbose.segments[0].avg_logprob < 0
    assert verbose.words[0].word == "Coffee"
    for form in ("text", "srt", "vtt"):
        assert "kitchen" in create(file=CLIP, model="whisper-1", response_format=form)


def test_client_reads_the_stream(openai_engine: EngineServer, long_clip: Path) -> None:
    stream = client_of(openai_engine).audio.transcriptions.create(file=long_clip, model="whisper-1", stream=True)
    events = list(stream)
    assert [event.type for event in events[-1:]] == ["transcript.text.done"]
    deltas = [event.delta for event in events if event.type == "transcript.text.delta"]
    assert len(deltas) >= 3
    assert all(deltas)
    assert "".join(deltas) == events[-1].text
    assert events[-1].usage.output_tokens > 0
    assert events[-1].usage.input_tokens >= 2 * 1500


async def test_async_client(openai_engine: EngineServer) -> None:
    async with openai.AsyncOpenAI(base_url=f"{openai_engine.url}/v1", api_key="unused", max_retries=0) as client:
        plain = await client.audio.transcriptions.create(file=CLIP, model="whisper-1", language="en", temperature=0.2)
        assert "kitchen" in plain.text
        stream = await client.audio.transcriptions.create(file=CLIP, model="whisper-1", stream=True)
        kinds = [event.type async for event in stream]
        assert kinds == ["transcript.text.delta", "transcript.text.done"]


def test_client_raises_typed_errors(openai_engine: EngineServer) -> None:
    client = client_of(openai_engine)
    with pytest.raises(openai.BadRequestError) as refused:
        client.audio.transcriptions.create(file=CLIP, model="whisper-1", language="klingon")
    assert refused.value.param == "language"
    assert refused.value.code == "invalid_language"
    assert refused.value.type == "invalid_request_error"
    assert refused.value.request_id is not None
    with pytest.raises(openai.NotFoundError):
        client.audio.speech.create(input="x", model="tts-1", voice="alloy")
    with pytest.raises(openai.InternalServerError) as unavailable:
        client.chat.completions.create(model="x", messages=[{"role": "user", "content": "hi"}])
    assert unavailable.value.status_code == 503
    assert unavailable.value.code == "no_chat_model"


def test_client_lists_the_model(openai_engine: EngineServer) -> None:
    (model,) = client_of(openai_engine).models.list().data
    assert model.id == "tiny.en"
    assert model.model_extra is not None
    meta = model.model_extra["meta"]
    assert meta["kind"] == "whisper"
    assert meta["languages"] == ["en"]
    assert meta["formats"] == ["json", "text", "srt", "verbose_json", "vtt"]
    assert meta["limits"]["max_seconds"] == 14400.0
    assert meta["limits"]["max_bytes"] == 209715200


def test_stream_as_bytes(openai_engine: EngineServer) -> None:
    answer = openai_engine.post(CLIP, model="whisper-1", stream="true")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream"
    delta, done, end = events_of(answer)
    assert delta["type"] == "transcript.text.delta"
    assert done["text"] == delta["delta"]
    assert end == "[DONE]"


def test_stream_of_segments(openai_engine: EngineServer, long_clip: Path) -> None:
    events = events_of(openai_engine.post(long_clip, stream="1", response_format="verbose_json"))
    segments = [event for event in events if event != "[DONE]" and event["type"] == "transcript.text.segment"]
    assert [event["id"] for event in segments] == [f"seg_{index}" for index in range(len(segments))]
    assert {event["speaker"] for event in segments} == {""}
    assert all(event["start"] <= event["end"] for event in segments)


def test_stream_of_text_tells_no_segments(openai_engine: EngineServer) -> None:
    events = events_of(openai_engine.post(CLIP, stream="true", response_format="text"))
    assert {event["type"] for event in events if isinstance(event, dict)} == {
        "transcript.text.delta",
        "transcript.text.done",
    }


def test_silence_streams_done_alone(openai_engine: EngineServer) -> None:
    done, end = events_of(openai_engine.post("B07_digital_silence_5s.wav", stream="true"))
    assert done["type"] == "transcript.text.done"
    assert done["text"] == ""
    assert end == "[DONE]"


def test_an_early_failure_of_a_stream_is_plain_json(openai_engine: EngineServer) -> None:
    answer = openai_engine.post("B06_text_named.mp3", stream="true")
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["error"]["param"] == "file"


@pytest.mark.parametrize(
    ("fields", "param", "said"),
    [
        ({"response_format": "JSON"}, "response_format", "JSON"),
        ({"response_format": "diarized_json"}, "response_format", "speakers"),
        ({"temperature": "warm"}, "temperature", "warm"),
        ({"temperature": "1.01"}, "temperature", "0 to 1"),
        ({"temperature": "-0.1"}, "temperature", "0 to 1"),
        ({"temperature": "nan"}, "temperature", "nan"),
        ({"temperature": "0_1"}, "temperature", "0_1"),
        ({"temperature": "٠"}, "temperature", "0 to 1"),
        ({"stream": "yes"}, "stream", "yes"),
        ({"stream": "true", "response_format": "srt"}, "stream", "srt"),
        ({"stream": "1", "response_format": "vtt"}, "stream", "vtt"),
        (
            {"timestamp_granularities[]": "char", "response_format": "verbose_json"},
            "timestamp_granularities[]",
            "word, segment",
        ),
        ({"timestamp_granularities": "word", "response_format": "srt"}, "timestamp_granularities", "verbose_json"),
        ({"language": "xx"}, "language", "xx"),
        ({"language": "es"}, "language", "base"),
        ({"prompt": b"\xff\xfe"}, "prompt", "UTF-8"),
    ],
)
def test_wrong_fields(openai_engine: EngineServer, fields: dict[str, Any], param: str, said: str) -> None:
    answer = openai_engine.post(CLIP, model="whisper-1", **fields)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert said in error["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"model": "anything/at all"},
        {"model": ["a", "b"]},
        {"temperature": ["x", "0.3"]},
        {"response_format": ""},
        {"language": "EN-us", "temperature": "1", "prompt": " The kitchen. "},
        {"stream": "0", "include[]": "logprobs", "chunking_strategy": "auto", "user": "me", "": "nameless"},
        {"known_speaker_names[]": ["a", "b"], "stream": "False", "timestamp_granularities[]": ""},
    ],
)
def test_accepted_fields(openai_engine: EngineServer, fields: dict[str, Any]) -> None:
    answer = openai_engine.post(CLIP, **fields)
    assert answer.status_code == 200
    assert "kitchen" in answer.json()["text"]


def test_no_file(openai_engine: EngineServer) -> None:
    answer = httpx.post(
        openai_engine.url + "/v1/audio/transcriptions", files={"audio": ("x.wav", b"x")}, data={"model": "whisper-1"}
    )
    assert answer.status_code == 400
    assert answer.json() == {
        "error": {
            "message": "Missing required field: file",
            "type": "invalid_request_error",
            "param": "file",
            "code": "missing_required_parameter",
        }
    }


@pytest.mark.parametrize("filename", ["", '; filename=""'])
def test_a_file_without_a_name_is_one_too_b11(openai_engine: EngineServer, filename: str) -> None:
    head = f'--b\r\nContent-Disposition: form-data; name="file"{filename}\r\nContent-Type: audio/wav\r\n\r\n'
    answer = httpx.post(
        openai_engine.url + "/v1/audio/transcriptions",
        content=head.encode() + CLIP.read_bytes() + b"\r\n--b--\r\n",
        headers={"Content-Type": "multipart/form-data; boundary=b"},
        timeout=60,
    )
    assert "kitchen" in answer.json()["text"]
    empty = httpx.post(
        openai_engine.url + "/v1/audio/transcriptions",
        content=head.encode() + b"\r\n--b--\r\n",
        headers={"Content-Type": "multipart/form-data; boundary=b"},
    )
    assert empty.json()["error"]["message"] == "Missing required field: file"


def test_the_last_file_counts(openai_engine: EngineServer) -> None:
    files = [("file", ("a.mp3", (CASES / "B19_cat.mp3").read_bytes())), ("file", ("b.wav", CLIP.read_bytes()))]
    answer = httpx.post(openai_engine.url + "/v1/audio/transcriptions", files=files, timeout=60)
    assert "kitchen" in answer.json()["text"]


def test_too_short_is_refused_and_a_tenth_of_a_second_is_not(openai_engine: EngineServer) -> None:
    refused = openai_engine.post_bytes(silence(0.099))
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "audio_too_short"
    assert "0.099 seconds" in refused.json()["error"]["message"]
    assert "0.099 seconds" in openai_engine.post_bytes(silence(0.0999)).json()["error"]["message"]
    assert openai_engine.post_bytes(silence(0.1)).json()["text"] == ""


def test_english_model_does_not_translate(openai_engine: EngineServer) -> None:
    answer = openai_engine.post(CLIP, "/v1/audio/translations", model="whisper-1")
    assert answer.status_code == 400
    assert "base" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (b'{"model":"whisper-1"}', "application/json"),
        (b"model=whisper-1", "application/x-www-form-urlencoded"),
        (b"RIFF", "audio/wav"),
        (b"", None),
        (b"--b\r\n\r\n", "multipart/mixed; boundary=b"),
        (b"--b--\r\n", "multipart/form-data"),
        (b"--b--\r\n", "multipart/form-data; boundary="),
        (b"no boundary in here", "multipart/form-data; boundary=b"),
        (
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nRIFF',
            "multipart/form-data; boundary=b",
        ),
        (b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n", "multipart/form-data; boundary=b"),
        (b"\xff\xfe\x00", "multipart/form-data; boundary=\xff".encode("latin-1").decode("latin-1")),
        (
            b"".join(b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n' for _ in range(33)) + b"--b--\r\n",
            "multipart/form-data; boundary=b",
        ),
    ],
)
def test_bodies_that_are_no_form(openai_engine: EngineServer, content: bytes, content_type: str | None) -> None:
    headers = {} if content_type is None else {"content-type": content_type.encode("latin-1")}
    answer = httpx.post(openai_engine.url + "/v1/audio/transcriptions", content=content, headers=headers)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["message"]
    assert all(value.isascii() for value in answer.headers.values())


def test_a_compressed_body_is_not_read(openai_engine: EngineServer) -> None:
    answer = httpx.post(
        openai_engine.url + "/v1/audio/transcriptions", content=b"x", headers={"content-encoding": "br"}
    )
    assert answer.status_code == 415
    assert "Content-Encoding" in answer.json()["error"]["message"]
