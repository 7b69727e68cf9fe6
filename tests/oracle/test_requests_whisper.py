"""Requests beyond the recorded ones, written to the socket of an engine with a Whisper model."""

import http.client
import json

import pytest

from support.engine_server import EngineServer
from support.oracle import Answer, exchange, fixture, form_bytes, in_chunks

PATH = "/v1/audio/transcriptions"
TYPE = "Content-Type: multipart/form-data; boundary=xYz"
CLIP = {"name": "file", "fixture": "tone_100ms.wav", "filename": "a.wav"}


def sent(engine: EngineServer, *headers: str, method: str = "POST", target: str = PATH, body: bytes = b"") -> Answer:
    lines = [f"{method} {target} HTTP/1.1", "Host: x", *headers, "", ""]
    return exchange(engine.port, "\r\n".join(lines).encode() + body)


def form(*parts: dict[str, object], **spec: object) -> bytes:
    return form_bytes({"boundary": "xYz", "parts": parts, **spec})


def posted(engine: EngineServer, body: bytes, *headers: str, content_type: str = TYPE) -> Answer:
    return sent(engine, content_type, f"Content-Length: {len(body)}", *headers, body=body)


def error(status: int, message: str) -> tuple[int, str]:
    body = {"error": {"code": status, "message": message, "type": "invalid_request_error"}}
    return status, json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def test_a_form_without_a_length_is_not_read(llama_engine: EngineServer) -> None:
    answer = sent(llama_engine, TYPE, body=form(CLIP))
    assert (answer.status, answer.body) == error(400, "No input file found for transcription")


@pytest.mark.parametrize(("method", "status"), [("TRACE", 400), ("GET", 404), ("DELETE", 404)])
def test_methods(llama_engine: EngineServer, method: str, status: int) -> None:
    answer = sent(llama_engine, method=method)
    assert answer.status == status
    assert answer.header("access-control-allow-origin") == ""
    assert answer.header("content-type") == "application/json; charset=utf-8"


def test_what_is_no_http_gets_the_envelope(llama_engine: EngineServer) -> None:
    answer = sent(llama_engine, method="FOO")
    assert answer.status == 400
    assert answer.json["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    "body",
    [
        form(CLIP, preamble="some preamble\r\n", epilogue="some epilogue\r\n--xYz\r\n"),
        form({**CLIP, "content_type": "text/plain; charset=utf-16"}),
        form(CLIP, {"name": "prompt", "text": "Grüße 🙂", "content_type": "text/plain; charset=utf-8"}),
        form({**CLIP, "filename": "会议 \\\" 🎧.wav"}),
        form({**CLIP, "filename": "a%0D%0AX-Evil: 1.wav"}),
        form({**CLIP, "raw_headers": "content-disposition: form-data; filename*=UTF-8''%E4%BC%9A.wav; name=file\r\n"}),
        form({"name": "file", "text": "not audio", "filename": "x"}, CLIP, {"name": "file", "text": "a field"}),
    ],
    ids=["preamble", "declared charset", "utf-8 field", "odd name", "line break in name", "extended name", "last file"],
)  # fmt: skip
def test_forms_that_are_accepted(llama_engine: EngineServer, body: bytes) -> None:
    for answer in (
        posted(llama_engine, body),
        posted(
            llama_engine, body, content_type='Content-Type: multipart/form-data; charset=utf-8; boundary="xYz"; x=1'
        ),
        posted(llama_engine, body, "Expect: 100-continue"),
        sent(llama_engine, TYPE, "Transfer-Encoding: chunked", body=in_chunks(body, 1000)),
    ):
        assert answer.status == 200
        assert answer.json["type"] == "transcript.text.done"
        assert all(value.isascii() for _, value in answer.headers)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (form(CLIP, {"name": "prompt", "base64": "YWL+"}), "[json.exception.type_error.316] invalid UTF-8 byte at index 2: 0xFE"),
        (form(CLIP, *[{"name": "x", "text": "y"}] * 32), "multipart form has more than 32 parts"),
        (form({**CLIP, "filename": ""}, {"name": "top_p", "text": "1"}), "[json.exception.type_error.316] invalid UTF-8 byte at index 4: 0xA4"),
        (form({"name": "file", "text": "RIFF", "filename": ""}), "No input file found for transcription"),
        (form({"name": "file", "text": "RIFFWAVE", "filename": "a"}, {"name": "top_p", "text": "1"}), "Failed to load image or audio file"),
        (form(CLIP, {"name": "top_p", "text": "1"}, {"name": "n_predict", "text": "1"}), "Field 'n_predict': [json.exception.type_error.302] type must be number, but is string"),
        (form(CLIP, {"name": "max_tokens", "text": "-9999999999"}), "Field 'max_tokens': Value must be between -1 <= value <= 2147483647, but got -1410065407"),
        (form(CLIP, {"name": "temperature", "text": "1e38e"}, {"name": "temperature", "text": "0"}), "[json.exception.type_error.302] type must be string, but is array"),
        (form(CLIP, {"name": "temperature", "text": "9e38"}), "stof"),
        (form(CLIP, {"name": "stream", "text": "true"}, {"name": "verbose", "text": ""}), "Field 'verbose': [json.exception.type_error.302] type must be boolean, but is string"),
        (form(CLIP, {"name": "stream", "text": "true"}, {"name": "samplers", "text": "kt"}), "Field 'samplers': not supported by the loaded model"),
    ],
)  # fmt: skip
def test_forms_that_are_refused(llama_engine: EngineServer, body: bytes, expected: str) -> None:
    answer = posted(llama_engine, body)
    assert (answer.status, answer.body) == error(400, expected)
    assert answer.header("connection") == "close"


def test_a_connection_serves_one_good_request_after_another(llama_engine: EngineServer) -> None:
    body = form({**CLIP, "fixture": "silence_1s.wav"})
    connection = http.client.HTTPConnection("127.0.0.1", llama_engine.port)
    connection.connect()
    kept = connection.sock
    for _ in range(2):
        connection.request("POST", PATH, body, {"Content-Type": TYPE.partition(": ")[2]})
        with connection.getresponse() as answer:
            assert answer.status == 200
            assert (answer.getheader("keep-alive"), answer.getheader("connection")) == ("timeout=5, max=100", None)
            assert json.loads(answer.read())["text"] == ""
        assert connection.sock is kept
    connection.close()


def test_raw_audio_is_no_form(llama_engine: EngineServer) -> None:
    answer = posted(llama_engine, fixture("tone_1s.wav"), content_type="Content-Type: audio/wav")
    expected = "[json.exception.parse_error.101] parse error at line 1, column 1: "
    assert answer.status == 400
    assert answer.json["error"]["message"].startswith(expected)
