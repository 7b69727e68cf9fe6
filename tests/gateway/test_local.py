"""The walk without a server, as a command uses it."""

import pytest

from fakes import speech
from fakes.recorder import recorder
from openproxy.errors import BadRequest, UpstreamError
from openproxy.gateway import local, services
from openproxy.gateway.asked import Asked
from openproxy.store import Access
from openproxy.upload import Upload
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


@pytest.fixture
def upload():
    with Upload("a.wav") as made:
        made.write(AUDIO)
        made.finish()
        yield made


async def test_a_transcript_from_the_second_account(running, upload):
    async with recorder((503, {"error": "busy"}), ANSWER) as heard:
        for number in (1, 2):
            await running.store.connections.add(
                "groq", f"account {number}", api_key=f"secret-{number}", data={"baseUrl": heard.url}
            )
        asked = Asked("groq/whisper-large-v3", "a.wav", None, (("response_format", "srt"),))
        transcript = await local.transcribe(running, asked, upload)
    assert transcript.text == speech.TEXT
    assert [segment.start for segment in transcript.segments] == [0.1, 2.0]
    assert [AUDIO in seen.body for seen in heard.seen] == [True, True]
    await running.store.usage.flush()
    (row,) = await running.store.usage.latest()
    assert (row.provider, row.status, row.attempts, row.bytes, row.audio_seconds) == ("groq", 200, 2, len(AUDIO), 3.5)


async def test_what_cannot_be_served(running, upload):
    with pytest.raises(BadRequest, match="No credentials for provider: groq"):
        await local.transcribe(running, Asked("groq/x", "a.wav", None, ()), upload)
    with pytest.raises(BadRequest, match="Provider 'deepgram' does not support audio/translations"):
        await local.transcribe(running, Asked("dg/nova-3", "a.wav", None, ()), upload, task="translate")


async def test_what_the_last_account_says(running, upload):
    async with recorder((401, {"error": "no such key"})) as heard:
        await running.store.connections.add("groq", "one", api_key="secret-1", data={"baseUrl": heard.url})
        with pytest.raises(UpstreamError, match="no such key") as caught:
            await local.transcribe(running, Asked("groq/x", "a.wav", None, ()), upload)
    assert caught.value.status == 401
