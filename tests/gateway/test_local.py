"""The walk without a server, as a command uses it."""

import pytest

from fakes import speech
from fakes.recorder import recorder
from openproxy.errors import BadRequest, UpstreamError
from openproxy.gateway import local, services
from openproxy.store import Access
from openproxy.upload import Kept, TranscriptionRequest
from support.gateway_server import AUDIO

ANSWER = {
    "text": speech.TEXT,
    "duration": 3.5,
    "segments": [
        {"start": 0.1, "end": 0.9, "text": " Hello there."},
        {"start": 2.0, "end": 2.8, "text": " How are you?"},
    ],
}


@pytest.fixture
async def running(tmp_path):
    async with services.running(services.Settings(Access(tmp_path))) as opened:
        yield opened


def asked(model, *fields, task="transcribe") -> TranscriptionRequest:
    return TranscriptionRequest(model, Kept(AUDIO), "a.wav", None, fields, task, rendered=True)


async def test_a_transcript_from_the_second_account(running):
    async with recorder((503, {"error": "busy"}), ANSWER) as heard:
        for number in (1, 2):
            await running.store.connections.add(
                "groq", f"account {number}", api_key=f"secret-{number}", data={"baseUrl": heard.url}
            )
        transcript = await local.transcribe(running, asked("groq/whisper-large-v3", ("response_format", "srt")))
    assert transcript.text == speech.TEXT
    assert [segment.start for segment in transcript.segments] == [0.1, 2.0]
    assert [AUDIO in seen.body for seen in heard.seen] == [True, True]
    await running.store.usage.flush()
    (row,) = await running.store.usage.latest()
    assert (row.provider, row.status, row.attempts, row.bytes, row.audio_seconds) == ("groq", 200, 2, len(AUDIO), 3.5)


async def test_what_cannot_be_served(running):
    with pytest.raises(BadRequest, match="No credentials for provider: groq"):
        await local.transcribe(running, asked("groq/x"))
    with pytest.raises(BadRequest, match="Provider 'deepgram' does not support audio/translations"):
        await local.transcribe(running, asked("dg/nova-3", task="translate"))


async def test_what_the_last_account_says(running):
    async with recorder((401, {"error": "no such key"})) as heard:
        await running.store.connections.add("groq", "one", api_key="secret-1", data={"baseUrl": heard.url})
        with pytest.raises(UpstreamError, match="no such key") as caught:
            await local.transcribe(running, asked("groq/x"))
    assert caught.value.status == 401
