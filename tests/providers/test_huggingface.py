"""Hugging Face: the model in the path, the recording in the body."""

import base64
import json

import pytest

from fakes import speech
from fakes.huggingface import HuggingFace
from fakes.loopback import serve
from fakes.recorder import recorder
from openproxy.errors import BadRequest, UpstreamError
from openproxy.transcript import Segment, Transcript
from support.providers import AUDIO, SECRET, Passing, account, asked, spooled, transcribe


async def test_the_whole_request_h17():
    fields = (("language", "en"), ("response_format", "srt"))
    async with recorder({"text": " hello"}) as upstream:
        reply = await transcribe(
            asked("openai/whisper-small", *fields), account("huggingface", f"{upstream.url}/models/")
        )
    (seen,) = upstream.seen
    assert (seen.method, seen.path, seen.query) == ("POST", "/models/openai/whisper-small", "")
    assert seen.headers["authorization"] == f"Bearer {SECRET}"
    assert seen.headers["content-type"] == "audio/wav"
    assert seen.headers["content-length"] == str(len(AUDIO))
    assert seen.body == AUDIO
    assert reply.answer == Transcript(" hello")
    assert reply.ignored == ("language", "response_format")


async def test_model_ids_are_encoded_b27():
    async with recorder({}) as upstream:
        await transcribe(asked("a b/c?d#e%2F"), account("huggingface", upstream.url))
    assert upstream.seen[0].path == "/hf-inference/models/a%20b/c%3Fd%23e%252F"


@pytest.mark.parametrize("model", ["a//b", "../x", "/x", "a/../../b", "a\r\nb"])
async def test_bad_model_ids_never_leave_h20(model: str):
    async with recorder() as upstream:
        with pytest.raises(BadRequest) as raised:
            await transcribe(asked(model), account("huggingface", upstream.url))
    assert (raised.value.status, raised.value.message) == (400, "Invalid model ID")
    assert upstream.seen == []


async def test_through_the_fake_with_and_without_times():
    fake = HuggingFace(SECRET)
    model = "openai/whisper-small"
    async with serve(fake.app()) as url:
        plain = await transcribe(asked(model, filename="note.opus"), account("huggingface", url))
        timed = await transcribe(asked(model, ("response_format", "vtt"), rendered=True), account("huggingface", url))
        text = await transcribe(asked(model, ("response_format", "text"), rendered=True), account("huggingface", url))
    assert fake.heard == [("audio/ogg", AUDIO), ("application/json", AUDIO), ("audio/wav", AUDIO)]
    assert fake.parameters == [{}, {"return_timestamps": True}, {}]
    assert plain.answer == text.answer == Transcript(f" {speech.TEXT}")
    assert timed.answer == Transcript(
        speech.TEXT, segments=(Segment(" Hello there.", 0.1, 0.9), Segment(" How are you?", 2.0, 2.8))
    )


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 1000, 600_000])
async def test_base64_is_whole_and_its_length_is_known(size: int):
    data = bytes(number % 251 for number in range(size))
    request = asked("m", ("response_format", "srt"), audio=spooled(data), rendered=True)
    async with recorder({}) as upstream:
        await transcribe(request, account("huggingface", upstream.url))
    (seen,) = upstream.seen
    assert json.loads(seen.body) == {
        "inputs": base64.b64encode(data).decode(),
        "parameters": {"return_timestamps": True},
    }
    assert seen.headers["content-length"] == str(len(seen.body))


async def test_base64_of_a_passing_recording_in_odd_pieces():
    pieces = [b"a", b"", b"bc", b"defgh", b"ij" * 501]
    request = asked("m", ("response_format", "srt"), audio=Passing(pieces), rendered=True)
    async with recorder({}) as upstream:
        await transcribe(request, account("huggingface", upstream.url))
    assert json.loads(upstream.seen[0].body)["inputs"] == base64.b64encode(b"".join(pieces)).decode()


@pytest.mark.parametrize("document", [{}, [], {"text": None}, [{"text": "x"}], {"text": 5, "chunks": [{}, 1]}])
async def test_a_missing_text_is_empty_h18(document: object):
    async with recorder(document) as upstream:
        reply = await transcribe(asked("m"), account("huggingface", upstream.url))
    assert reply.answer == Transcript("")


async def test_what_is_not_json_is_a_502_h25():
    async with recorder(b"oops") as upstream:
        with pytest.raises(UpstreamError) as raised:
            await transcribe(asked("m"), account("huggingface", upstream.url))
    assert raised.value.status == 502
    assert raised.value.message == "Failed parsing HF response: Expecting value: line 1 column 1 (char 0)"


async def test_a_model_that_is_loading_is_a_503():
    async with serve(HuggingFace(SECRET, loading=1).app()) as url:
        with pytest.raises(UpstreamError) as raised:
            await transcribe(asked("openai/whisper-small"), account("huggingface", url))
    assert (raised.value.status, raised.value.message) == (503, "Model openai/whisper-small is currently loading")
