"""The official SDKs of OpenAI and Groq against the gateway: what they type, they get; what fails, they raise."""

import groq
import openai
import pytest
import srt
import webvtt

from fakes import speech
from support.gateway_server import AUDIO, KEY
from support.vendors import vendor

FILE = ("clip.wav", AUDIO * 60, "audio/wav")
RENDERED = {"x-openproxy-formats": "rendered"}


@pytest.fixture
def client(gateway):
    with openai.OpenAI(api_key=KEY, base_url=f"{gateway.url}/v1", max_retries=0) as client:
        yield client


WAYS = [
    pytest.param("openai", "openai/whisper-1", {}, id="verbatim"),
    pytest.param("deepgram", "deepgram/nova-3", RENDERED, id="rendered"),
]
"""Passed on from OpenAI's fake, and made by the gateway out of Deepgram's answer."""


@pytest.mark.parametrize(("provider", "model", "headers"), WAYS)
class TestFormats:
    def test_json(self, gateway, client, provider, model, headers):
        with vendor(gateway, provider):
            answer = client.audio.transcriptions.create(model=model, file=FILE, extra_headers=headers)
        assert type(answer) is openai.types.audio.Transcription
        assert answer.text == speech.TEXT

    @pytest.mark.parametrize("name", ["text", "srt", "vtt"])
    def test_strings(self, gateway, client, provider, model, headers, name):
        with vendor(gateway, provider):
            answer = client.audio.transcriptions.create(
                model=model, file=FILE, response_format=name, extra_headers=headers
            )
        assert isinstance(answer, str)
        read = {
            "text": lambda: [answer.strip()],
            "srt": lambda: [cue.content for cue in srt.parse(answer)],
            "vtt": lambda: [cue.text for cue in webvtt.from_string(answer)],
        }
        assert " ".join(read[name]()) == speech.TEXT

    def test_verbose_json(self, gateway, client, provider, model, headers):
        with vendor(gateway, provider):
            answer = client.audio.transcriptions.create(
                model=model,
                file=FILE,
                response_format="verbose_json",
                timestamp_granularities=["word", "segment"],
                extra_headers=headers,
            )
        assert type(answer) is openai.types.audio.TranscriptionVerbose
        assert [round(word.start, 1) for word in answer.words] == [0.1, 0.4, 2.0, 2.2, 2.4]
        assert [segment.text.strip() for segment in answer.segments] == ["Hello there.", "How are you?"]
        assert answer.duration == speech.DURATION


@pytest.mark.parametrize(
    ("provider", "model", "headers"),
    [
        pytest.param("openai", "openai/gpt-4o-transcribe-diarize", {}, id="verbatim"),
        pytest.param("deepgram", "deepgram/nova-3", RENDERED, id="rendered"),
    ],
)
def test_diarized_json(gateway, client, provider, model, headers):
    with vendor(gateway, provider):
        answer = client.audio.transcriptions.create(
            model=model, file=FILE, response_format="diarized_json", chunking_strategy="auto", extra_headers=headers
        )
    assert type(answer) is openai.types.audio.TranscriptionDiarized
    assert [(segment.speaker, segment.text) for segment in answer.segments] == [
        ("A", "Hello there."),
        ("B", "How are you?"),
    ]


STREAMS = [
    pytest.param("openai", "openai/gpt-4o-transcribe", {}, id="verbatim"),
    pytest.param("assemblyai", "aai/universal-2", RENDERED, id="rendered"),
]


@pytest.mark.parametrize(("provider", "model", "headers"), STREAMS)
def test_b14_stream(gateway, client, provider, model, headers):
    with vendor(gateway, provider):
        stream = client.audio.transcriptions.create(model=model, file=FILE, stream=True, extra_headers=headers)
        events = list(stream)
    assert {event.type for event in events[:-1]} == {"transcript.text.delta"}
    assert "".join(event.delta for event in events[:-1]) == events[-1].text == speech.TEXT


@pytest.mark.parametrize(("provider", "model", "headers"), STREAMS)
async def test_b14_stream_in_the_asynchronous_client(gateway, provider, model, headers):
    with vendor(gateway, provider):
        async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{gateway.url}/v1") as client:
            stream = await client.audio.transcriptions.create(
                model=model, file=FILE, stream=True, extra_headers=headers
            )
            events = [event async for event in stream]
    assert events[-1].text == speech.TEXT


async def test_the_asynchronous_client(gateway):
    with vendor(gateway, "openai") as fake:
        async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{gateway.url}/v1") as client:
            plain = await client.audio.transcriptions.create(model="whisper-1", file=FILE, language="en", temperature=0)
            subtitles = await client.audio.transcriptions.create(model="whisper-1", file=FILE, response_format="srt")
            verbose = await client.audio.transcriptions.create(
                model="whisper-1", file=FILE, response_format="verbose_json", timestamp_granularities=["word"]
            )
            translated = await client.audio.translations.create(model="whisper-1", file=FILE)
            models = await client.models.list()
    assert plain.text == translated.text == speech.TEXT
    assert subtitles.startswith("1\n")
    assert len(verbose.words) == 5
    assert [one[2] for one in fake.heard] == [FILE[1]] * 4
    assert "openai/whisper-1" in [model.id for model in models.data]


class TestErrors:
    def test_no_key(self, gateway):
        client = openai.OpenAI(api_key="wrong", base_url=f"{gateway.url}/v1", max_retries=0)
        with pytest.raises(openai.AuthenticationError, match="Invalid API key") as caught:
            client.audio.transcriptions.create(model="whisper-1", file=FILE)
        assert (caught.value.code, caught.value.type) == ("invalid_api_key", "authentication_error")
        assert caught.value.request_id.startswith("req_")

    def test_a_model_that_nobody_has(self, client):
        with pytest.raises(openai.BadRequestError, match="Provider 'anthropic' does not support STT") as caught:
            client.audio.transcriptions.create(model="anthropic/x", file=FILE)
        assert (caught.value.code, caught.value.param) == ("model_not_found", "model")

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            (401, openai.AuthenticationError),
            (403, openai.PermissionDeniedError),
            (404, openai.NotFoundError),
            (409, openai.ConflictError),
            (422, openai.UnprocessableEntityError),
            (429, openai.RateLimitError),
            (500, openai.InternalServerError),
            (503, openai.InternalServerError),
        ],
    )
    def test_the_providers_status(self, gateway, client, upstream, status, kind):
        gateway.connect("openai", upstream((status, {"error": {"message": "as the provider says"}})).url)
        with pytest.raises(kind, match="as the provider says"):
            client.audio.transcriptions.create(model="whisper-1", file=FILE)

    async def test_in_the_asynchronous_client(self, gateway):
        async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{gateway.url}/v1", max_retries=0) as client:
            with pytest.raises(openai.BadRequestError, match="Audio file is empty"):
                await client.audio.transcriptions.create(model="whisper-1", file=("a.wav", b""))
            with pytest.raises(openai.NotFoundError, match="Unknown model kind"):
                await client.models.retrieve("nothing")


class TestGroq:
    """Its SDK posts to `/openai/v1` below the base address."""

    def test_the_formats_that_it_types(self, gateway):
        with vendor(gateway, "groq") as fake, groq.Groq(api_key=KEY, base_url=gateway.url) as client:
            plain = client.audio.transcriptions.create(model="groq/whisper-large-v3", file=FILE)
            verbose = client.audio.transcriptions.create(
                model="groq/whisper-large-v3-turbo",
                file=FILE,
                response_format="verbose_json",
                timestamp_granularities=["word", "segment"],
            )
            text = client.audio.transcriptions.create(model="groq/whisper-large-v3", file=FILE, response_format="text")
            translated = client.audio.translations.create(model="groq/whisper-large-v3", file=FILE)
        assert plain.text.strip() == translated.text.strip() == speech.TEXT
        assert len(verbose.words) == 5
        assert str(text).strip() == speech.TEXT
        assert [one[2] for one in fake.heard] == [FILE[1]] * 4

    async def test_asynchronous(self, gateway):
        with vendor(gateway, "groq"):
            async with groq.AsyncGroq(api_key=KEY, base_url=gateway.url, max_retries=0) as client:
                answer = await client.audio.transcriptions.create(model="groq/whisper-large-v3", file=FILE)
                with pytest.raises(groq.NotFoundError, match="does not exist"):
                    await client.audio.transcriptions.create(model="groq/no-such-model", file=FILE)
        assert answer.text.strip() == speech.TEXT
