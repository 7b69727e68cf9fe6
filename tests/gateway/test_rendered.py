"""Formats that the gateway makes itself (contracts/gateway.md, decision 14), for all seven providers."""

import json

import httpx
import pytest
import srt
import webvtt

from fakes import speech
from support.gateway_server import AUDIO, BEARER, ROUTE, error, file, form, text
from support.vendors import MODELS, vendor

RENDERED = {"x-openproxy-formats": "rendered"}
TIMED = ("openai", "groq", "deepgram", "assemblyai", "huggingface", "selfhosted-stt")
SPEAKERS = ("deepgram", "assemblyai")


def made(gateway, provider, **fields):
    with vendor(gateway, provider):
        return gateway.post(MODELS[provider], headers=RENDERED, **fields)


def events(body: bytes) -> list[dict]:
    """The events of a stream, whose end mark is checked."""
    frames = body.split(b"\n\n")
    assert frames[-2:] == [b"data: [DONE]", b""]
    return [json.loads(frame.removeprefix(b"data: ")) for frame in frames[:-2]]


@pytest.mark.parametrize("provider", MODELS)
def test_json(gateway, provider):
    answer = made(gateway, provider)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json()["text"] == speech.TEXT
    assert "x-openproxy-ignored" not in answer.headers


@pytest.mark.parametrize("provider", MODELS)
def test_text(gateway, provider):
    answer = made(gateway, provider, response_format="text")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.content == speech.TEXT.encode() + b"\n"


@pytest.mark.parametrize("provider", TIMED)
def test_b13_subtitles(gateway, provider):
    answer = made(gateway, provider, response_format="srt")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert [cue.content for cue in srt.parse(answer.text)] == ["Hello there.", "How are you?"]
    answer = made(gateway, provider, response_format="vtt")
    assert answer.headers["content-type"] == "text/vtt; charset=utf-8"
    assert [cue.text for cue in webvtt.from_string(answer.text)] == ["Hello there.", "How are you?"]


@pytest.mark.parametrize("provider", [name for name in TIMED if name != "huggingface"])
@pytest.mark.parametrize("brackets", ["", "[]"])
def test_b12_words_and_segments(gateway, provider, brackets):
    asked = {f"timestamp_granularities{brackets}": ["word", "segment"]}
    document = made(gateway, provider, response_format="verbose_json", **asked).json()
    assert [word["word"].strip(".?") for word in document["words"]] == ["Hello", "there", "How", "are", "you"]
    assert [segment["text"].strip() for segment in document["segments"]] == ["Hello there.", "How are you?"]
    assert (document["language"], document["duration"]) == ("english", speech.DURATION)


@pytest.mark.parametrize("provider", TIMED)
def test_b12_segments_by_default(gateway, provider):
    document = made(gateway, provider, response_format="verbose_json").json()
    assert "words" not in document
    assert [segment["start"] for segment in document["segments"]] == [0.1, 2.0]


@pytest.mark.parametrize("name", ["json", "text", "srt"])
@pytest.mark.parametrize("provider", ["openai", "deepgram"])
def test_b12_granularities_of_other_formats_are_named(gateway, provider, name):
    answer = made(gateway, provider, response_format=name, **{"timestamp_granularities[]": "word"})
    assert (answer.status_code, answer.headers["x-openproxy-ignored"]) == (200, "timestamp_granularities[]")


@pytest.mark.parametrize("provider", SPEAKERS)
def test_speakers(gateway, provider):
    document = made(gateway, provider, response_format="diarized_json").json()
    assert [(one["speaker"], one["text"]) for one in document["segments"]] == [
        ("A", "Hello there."),
        ("B", "How are you?"),
    ]


@pytest.mark.parametrize(
    ("provider", "fields", "missing"),
    [
        ("huggingface", {"response_format": "diarized_json"}, "speak"),
        ("openai", {"response_format": "diarized_json"}, "speak"),
        ("gemini", {"response_format": "srt"}, "times"),
        ("gemini", {"response_format": "verbose_json"}, "times of segments"),
        ("huggingface", {"response_format": "verbose_json", "timestamp_granularities[]": "word"}, "times of words"),
    ],
)
def test_what_the_vendor_did_not_send_is_named(gateway, provider, fields, missing):
    answer = made(gateway, provider, **fields)
    status, message = error(answer)
    assert status == 400
    assert missing in message
    assert answer.headers["x-openproxy-attempts"] == "1"


@pytest.mark.parametrize(
    ("fields", "allowed"),
    [
        ({"response_format": "xml"}, "json, text, srt, verbose_json, vtt, diarized_json"),
        ({"response_format": "verbose_json", "timestamp_granularities[]": "line"}, "word, segment"),
    ],
)
def test_b13_an_unknown_value_costs_no_call(gateway, upstream, fields, allowed):
    recorder = upstream()
    gateway.connect("deepgram", recorder.url)
    status, message = error(gateway.post("dg/nova-3", headers=RENDERED, **fields))
    assert status == 400
    assert allowed in message
    assert recorder.seen == []


@pytest.mark.parametrize("provider", MODELS)
def test_b14_a_stream(gateway, provider):
    answer = made(gateway, provider, stream="true")
    assert answer.headers["content-type"] == "text/event-stream"
    told = events(answer.content)
    assert {event["type"] for event in told[:-1]} == {"transcript.text.delta"}
    assert told[-1]["type"] == "transcript.text.done"
    assert "".join(event["delta"] for event in told[:-1]) == told[-1]["text"] == speech.TEXT


def test_a_stream_with_speakers(gateway):
    told = events(made(gateway, "deepgram", stream="true", response_format="diarized_json").content)
    segments = [event for event in told if event["type"] == "transcript.text.segment"]
    assert [segment["speaker"] for segment in segments] == ["A", "B"]
    answer = made(gateway, "gemini", stream="true", response_format="diarized_json")
    assert error(answer)[0] == 400


def test_a_stream_with_segments(gateway):
    told = events(made(gateway, "deepgram", stream="true", response_format="verbose_json").content)
    segments = [event for event in told if event["type"] == "transcript.text.segment"]
    assert [(segment["text"], segment["start"], segment["speaker"]) for segment in segments] == [
        ("Hello there.", 0.1, ""),
        ("How are you?", 2.0, ""),
    ]
    status, message = error(made(gateway, "gemini", stream="true", response_format="verbose_json"))
    assert (status, "times of segments" in message) == (400, True)


@pytest.mark.parametrize("name", ["srt", "vtt"])
def test_subtitles_are_no_stream(gateway, upstream, name):
    recorder = upstream()
    gateway.connect("deepgram", recorder.url)
    status, message = error(gateway.post("dg/nova-3", headers=RENDERED, response_format=name, stream="true"))
    assert (status, message.partition(";")[0]) == (400, f"response_format {name} cannot be streamed")
    assert recorder.seen == []


def test_speakers_that_only_words_tell(gateway, upstream):
    words = [
        {"word": "Hi.", "start": 0, "end": 1, "speaker": "ann"},
        {"word": "Yes.", "start": 1, "end": 2, "speaker": "ben"},
    ]
    segment = {"text": "Hi. Yes.", "start": 0, "end": 2, "words": words}
    gateway.connect("selfhosted-stt", upstream({"text": "Hi. Yes.", "segments": [segment]}).url)
    turns = [("ann", "Hi."), ("ben", "Yes.")]
    document = gateway.post("selfhosted-stt/x", headers=RENDERED, response_format="diarized_json").json()
    assert [(one["speaker"], one["text"]) for one in document["segments"]] == turns
    told = events(
        gateway.post("selfhosted-stt/x", headers=RENDERED, response_format="diarized_json", stream="true").content
    )
    assert [(one["speaker"], one["text"]) for one in told if one["type"] == "transcript.text.segment"] == turns


def test_a_text_that_is_left_out_is_that_of_the_segments(gateway, upstream):
    segments = [{"text": " One.", "start": 0, "end": 1}, {"text": " Two.", "start": 2, "end": 3}]
    gateway.connect("selfhosted-stt", upstream({"segments": segments}).url)
    assert gateway.post("selfhosted-stt/x", headers=RENDERED).json() == {"text": "One. Two."}
    assert gateway.post("selfhosted-stt/x", headers=RENDERED, response_format="text").text == "One. Two.\n"


def test_silence_in_every_format(gateway, upstream):
    gateway.connect("deepgram", upstream({"results": {"channels": [{"alternatives": [{"transcript": ""}]}]}}).url)
    bodies = {
        name: gateway.post("dg/nova-3", headers=RENDERED, response_format=name).content
        for name in ("json", "text", "srt", "vtt")
    }
    assert bodies == {"json": b'{"text":""}', "text": b"", "srt": b"", "vtt": b"WEBVTT\n\n"}


class TestFieldsBehindALargeFile:
    """They arrive when an upload that is passed on as it comes has long begun."""

    def post(self, gateway, *parts, rendered=True):
        body, content_type = form(*parts)
        headers = {**BEARER, **(RENDERED if rendered else {}), "Content-Type": content_type}
        return httpx.post(gateway.url + ROUTE, content=body, headers=headers, timeout=60)

    @pytest.mark.parametrize("provider", TIMED)
    def test_the_format_is_made(self, gateway, provider):
        with vendor(gateway, provider):
            answer = self.post(
                gateway, text("model", MODELS[provider]), file(AUDIO * 2000), text("response_format", "srt")
            )
        assert [cue.content for cue in srt.parse(answer.text)] == ["Hello there.", "How are you?"]

    def test_a_format_in_front_lets_it_pass_and_the_rest_is_named(self, gateway):
        parts = (
            text("model", "dg/nova-3"),
            text("response_format", "verbose_json"),
            file(AUDIO * 2000),
            text("timestamp_granularities[]", "word"),
        )
        with vendor(gateway, "deepgram"):
            answer = self.post(gateway, *parts)
        assert "words" not in answer.json()
        assert answer.headers["x-openproxy-ignored"] == "timestamp_granularities[]"

    def test_a_provider_that_takes_no_stream_gets_them_all(self, gateway):
        parts = (text("model", "gemini/gemini-2.5-flash"), file(AUDIO * 2000), text("language", "es"))
        with vendor(gateway, "gemini") as fake:
            assert self.post(gateway, *parts, rendered=False).status_code == 200
        (said, _) = fake.requests[0]["contents"][0]["parts"]
        assert said["text"].endswith(" Language: es.")

    def test_the_last_model_counts_where_nothing_was_sent_yet(self, gateway):
        parts = (text("model", "gemini/x"), file(AUDIO * 2000), text("model", "gemini/gemini-2.5-flash"))
        with vendor(gateway, "gemini"):
            answer = self.post(gateway, *parts)
        assert (answer.status_code, answer.headers["x-openproxy-model"]) == (200, "gemini-2.5-flash")


class TestSwitch:
    def test_off_by_default(self, gateway, upstream):
        gateway.connect("deepgram", upstream({"results": {}}).url)
        answer = gateway.post("dg/nova-3", response_format="vtt", stream="true")
        assert answer.content == b'{"text":""}'
        assert answer.headers["x-openproxy-ignored"] == "response_format,stream"

    def test_the_setting(self, gateway):
        gateway.settings(formats="rendered")
        with vendor(gateway, "deepgram"):
            assert gateway.post("dg/nova-3", response_format="text").text == f"{speech.TEXT}\n"

    def test_the_header_against_the_setting(self, gateway, upstream):
        gateway.settings(formats="rendered")
        gateway.connect("openai", upstream(b"as it is", content_type="text/x").url)
        answer = gateway.post("openai/whisper-1", headers={"x-openproxy-formats": "verbatim"})
        assert (answer.content, answer.headers["content-type"]) == (b"as it is", "text/x")
