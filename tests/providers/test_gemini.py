"""Gemini: instruction and recording in one document."""

import asyncio
import base64
import json
import tracemalloc
from pathlib import Path

import pytest

from fakes import raw, speech
from fakes.gemini import Gemini
from fakes.loopback import serve
from fakes.recorder import recorder
from openproxy.errors import BadRequest, UpstreamError
from openproxy.transcript import Segment, Transcript, Usage, Word
from openproxy.upload import Kept, Upload
from support.providers import AUDIO, SECRET, account, asked, transcribe

STUBS = Path(__file__).parents[1] / "data" / "upstreams"
DEFAULT = "Generate a transcript of the speech. Return only the transcribed text, no commentary."
HELLO = {"candidates": [{"content": {"parts": [{"text": "Hel"}, {"inline_data": {}}, {"text": "lo"}]}}]}
USAGE = Usage(input_tokens=130, output_tokens=9, text_tokens=18, audio_tokens=112)


@pytest.mark.parametrize(
    ("fields", "instruction"),
    [
        ([], DEFAULT),
        ([("language", "en")], f"{DEFAULT} Language: en."),
        ([("prompt", 'Write "it" down.')], 'Write "it" down.'),
        ([("prompt", "Zapisz."), ("language", "pl")], "Zapisz. Language: pl."),
        ([("language", "auto"), ("prompt", " ")], DEFAULT),
    ],
)
async def test_the_whole_request_h17_h21(fields: list[tuple[str, str]], instruction: str):
    async with recorder(HELLO) as upstream:
        reply = await transcribe(asked("gemini-2.5-flash", *fields), account("gemini", upstream.url))
    (seen,) = upstream.seen
    assert (seen.method, seen.path, seen.query) == ("POST", "/v1beta/models/gemini-2.5-flash:generateContent", "")
    assert seen.headers["authorization"] == f"Key {SECRET}"
    assert "x-goog-api-key" not in seen.headers
    assert seen.headers["content-type"] == "application/json"
    assert seen.headers["content-length"] == str(len(seen.body))
    assert json.loads(seen.body) == {
        "contents": [
            {
                "parts": [
                    {"text": instruction},
                    {"inline_data": {"mime_type": "audio/wav", "data": base64.b64encode(AUDIO).decode()}},
                ]
            }
        ]
    }
    assert isinstance(reply.answer, Transcript)
    assert reply.answer.text == "Hello"
    assert reply.ignored == ()


async def test_ignored_fields_are_named():
    fields = (("response_format", "srt"), ("temperature", "0"), ("keywords[]", "a"))
    async with recorder(HELLO) as upstream:
        reply = await transcribe(asked("gemini-2.5-flash", *fields), account("gemini", upstream.url))
    assert reply.ignored == ("response_format", "temperature", "keywords[]")


async def test_the_vendors_own_header_and_a_model_that_thinks():
    fake = Gemini(SECRET)
    async with serve(fake.app()) as url:
        connection = account("gemini", url, auth_scheme="x-goog-api-key")
        reply = await transcribe(asked("gemini-3.8-flash", filename="a.opus"), connection)
        with pytest.raises(UpstreamError) as raised:
            await transcribe(asked("gemini-3.8-flash"), account("gemini", url))
    assert fake.heard == [("audio/ogg", AUDIO)]
    assert fake.requests[0]["generationConfig"] == {"thinkingConfig": {"thinkingLevel": "low"}}
    assert reply.answer == Transcript(speech.TEXT, usage=USAGE)
    assert raised.value.status == 401


async def test_the_dedicated_model_gets_no_instruction():
    fake = Gemini(SECRET)
    fields = (("prompt", "p"), ("language", "en-GB"), ("keywords[]", "OpenProxy"), ("response_format", "diarized_json"))
    async with serve(fake.app()) as url:
        reply = await transcribe(
            asked("gemini-3.5-transcribe", *fields, rendered=True),
            account("gemini", url, auth_scheme="x-goog-api-key"),
        )
    (request,) = fake.requests
    assert [list(part) for part in request["contents"][0]["parts"]] == [["inline_data"]]
    assert request["generationConfig"] == {
        "audioTranscriptionConfig": {
            "languageCodes": ["en-GB"],
            "customVocabulary": ["OpenProxy"],
            "wordTimestamp": True,
            "diarization": True,
        }
    }
    words = tuple(Word(f" {one.word}", one.start, one.end, None, f"spk_{one.speaker + 1}") for one in speech.WORDS)
    assert reply.answer == Transcript(
        text=speech.TEXT,
        language="en",
        segments=(
            Segment(" Hello there.", 0.1, 0.9, words[:2], "spk_1"),
            Segment(" How are you?", 2.0, 2.8, words[2:], "spk_2"),
        ),
        words=words,
        usage=USAGE,
    )
    assert reply.ignored == ("prompt",)


async def test_the_dedicated_model_without_further_wishes():
    fake = Gemini(SECRET)
    async with serve(fake.app()) as url:
        reply = await transcribe(asked("gemini-3.5-transcribe"), account("gemini", url, auth_scheme="x-goog-api-key"))
    assert "generationConfig" not in fake.requests[0]
    assert reply.answer == Transcript(speech.TEXT, "en", usage=USAGE)


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        {"candidates": []},
        {"promptFeedback": {"blockReason": "SAFETY"}},
        {"candidates": [{"finishReason": "SAFETY"}]},
        {"candidates": [{"content": {"parts": [{"text": 5}, 7, None]}}]},
    ],
)
async def test_no_candidate_is_an_empty_text_h18(document: object):
    async with recorder(document) as upstream:
        reply = await transcribe(asked("gemini-2.5-flash"), account("gemini", upstream.url))
    assert reply.answer == Transcript("")


async def test_model_ids_are_encoded_or_refused_b27():
    async with recorder(HELLO) as upstream:
        await transcribe(asked("x?key=1#y"), account("gemini", upstream.url))
        with pytest.raises(BadRequest, match=r"^Invalid model ID$"):
            await transcribe(asked("../x"), account("gemini", upstream.url))
    assert [(seen.path, seen.query) for seen in upstream.seen] == [
        ("/v1beta/models/x%3Fkey%3D1%23y:generateContent", "")
    ]


async def test_what_is_not_json_is_a_502_h25():
    async with recorder(b'{"candidates": [') as upstream:
        with pytest.raises(UpstreamError) as raised:
            await transcribe(asked("gemini-2.5-flash"), account("gemini", upstream.url))
    assert raised.value.status == 502
    assert raised.value.message.startswith("Failed parsing Gemini response: ")


async def test_an_error_that_echoes_the_key_does_not_show_it_b17():
    body = (STUBS / "B17_gemini_error.json").read_bytes()
    async with recorder((400, body)) as upstream:
        with pytest.raises(UpstreamError) as raised:
            await transcribe(asked("gemini-2.5-flash"), account("gemini", upstream.url))
    assert (raised.value.status, raised.value.message) == (400, "API key not valid. Key: [redacted]")


async def test_a_large_recording_is_never_in_memory_as_a_whole():
    received = 0

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal received
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while received < length:
            received += len(await reader.read(65_536))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()

    size = 24 * 1024 * 1024
    with Upload() as upload:
        for _ in range(24):
            upload.write(bytes(1024 * 1024))
        upload.finish()
        tracemalloc.start()
        try:
            async with raw.raw(script) as url:
                await transcribe(asked("gemini-2.5-flash", audio=Kept(upload.source)), account("gemini", url))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert received > size * 4 / 3
    assert peak < size / 3
