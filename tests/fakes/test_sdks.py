"""Each fake is trusted because its vendor's own SDK transcribes through it, and because it refuses a wrong credential."""

import asyncio
from pathlib import Path

import aiohttp
import assemblyai
import deepgram
import groq
import huggingface_hub
import openai
import pytest
from assemblyai import types as assemblyai_types
from deepgram.core.api_error import ApiError
from deepgram.environment import DeepgramClientEnvironment
from google import genai
from google.genai import errors as genai_errors
from google.genai import types as genai_types

from fakes import speech
from fakes.assemblyai import AssemblyAI
from fakes.deepgram import Deepgram
from fakes.gemini import Gemini
from fakes.huggingface import HuggingFace
from fakes.loopback import serve
from fakes.openai import Groq, OpenAI

AUDIO = b"RIFF" + bytes(range(256)) * 40
KEY = "test-key-0123456789abcdef"


async def test_openai_sdk_transcribes_in_every_format():
    fake = OpenAI(KEY)
    async with serve(fake.app()) as url, openai.AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1") as client:
        file = ("clip.wav", AUDIO, "audio/wav")
        plain = await client.audio.transcriptions.create(model="gpt-transcribe", file=file)
        verbose = await client.audio.transcriptions.create(
            model="whisper-1", file=file, response_format="verbose_json", timestamp_granularities=["word", "segment"]
        )
        srt = await client.audio.transcriptions.create(model="whisper-1", file=file, response_format="srt")
        diarized = await client.audio.transcriptions.create(
            model="gpt-4o-transcribe-diarize", file=file, response_format="diarized_json", chunking_strategy="auto"
        )
        stream = await client.audio.transcriptions.create(model="gpt-4o-transcribe", file=file, stream=True)
        events = [event async for event in stream]
        translated = await client.audio.translations.create(model="whisper-1", file=file)
    assert plain.text == speech.TEXT
    assert [word.word for word in verbose.words] == ["Hello", "there", "How", "are", "you"]
    assert [segment.text for segment in verbose.segments] == [" Hello there.", " How are you?"]
    assert srt.startswith("1\n00:00:00,100 --> 00:00:00,900\nHello there.\n")
    assert [segment.speaker for segment in diarized.segments] == ["A", "B"]
    assert "".join(event.delta for event in events[:-1]) == events[-1].text == speech.TEXT
    assert translated.text == speech.TEXT
    assert fake.heard == [("clip.wav", "audio/wav", AUDIO)] * 6


async def test_openai_sdk_sees_the_errors_of_openai():
    async with serve(OpenAI(KEY).app()) as url:
        file = ("clip.wav", AUDIO)
        client = openai.AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0)
        stranger = openai.AsyncOpenAI(api_key="other", base_url=f"{url}/v1", max_retries=0)
        with pytest.raises(openai.AuthenticationError, match="Incorrect API key"):
            await stranger.audio.transcriptions.create(model="whisper-1", file=file)
        with pytest.raises(openai.NotFoundError, match="does not exist"):
            await client.audio.transcriptions.create(model="whisper-9", file=file)
        with pytest.raises(openai.BadRequestError, match="Invalid file format"):
            await client.audio.transcriptions.create(model="whisper-1", file=("note.opus", AUDIO))
        with pytest.raises(openai.BadRequestError, match="not compatible"):
            await client.audio.transcriptions.create(model="gpt-transcribe", file=file, response_format="srt")
        await client.close()
        await stranger.close()


async def test_groq_sdk():
    fake = Groq(KEY)
    async with serve(fake.app()) as url, groq.AsyncGroq(api_key=KEY, base_url=url) as client:
        plain = await client.audio.transcriptions.create(model="whisper-large-v3", file=("clip.mp3", AUDIO))
        verbose = await client.audio.transcriptions.create(
            model="whisper-large-v3-turbo",
            file=("clip.mp3", AUDIO),
            response_format="verbose_json",
            timestamp_granularities=["word"],
        )
        stranger = groq.AsyncGroq(api_key="other", base_url=url, max_retries=0)
        with pytest.raises(groq.AuthenticationError):
            await stranger.audio.transcriptions.create(model="whisper-large-v3", file=("clip.mp3", AUDIO))
        await stranger.close()
    assert plain.text.strip() == speech.TEXT
    assert verbose.words[0]["word"] == "Hello"
    assert fake.heard[0][2] == AUDIO


async def test_deepgram_sdk():
    fake = Deepgram(KEY)
    async with serve(fake.app()) as url:
        environment = DeepgramClientEnvironment(base=url, production=url, agent=url, agent_rest=url)
        client = deepgram.AsyncDeepgramClient(api_key=KEY, environment=environment)
        answer = await client.listen.v1.media.transcribe_file(
            request=AUDIO, model="nova-3", smart_format=True, utterances=True, diarize_model="latest", keyterm="there"
        )
        stranger = deepgram.AsyncDeepgramClient(api_key="other", environment=environment)
        with pytest.raises(ApiError) as refused:
            await stranger.listen.v1.media.transcribe_file(request=AUDIO, model="nova-3")
    assert answer.results.channels[0].alternatives[0].transcript == speech.TEXT
    assert [one.speaker for one in answer.results.utterances] == [0, 1]
    assert answer.metadata.duration == speech.DURATION
    assert refused.value.status_code == 401
    assert [audio for _, audio in fake.heard] == [AUDIO]


async def test_assemblyai_sdk(tmp_path: Path):
    fake = AssemblyAI(KEY, waiting_polls=1)
    clip = tmp_path / "clip.wav"
    clip.write_bytes(AUDIO)

    def transcribe(url: str, key: str) -> assemblyai.Transcript:
        settings = assemblyai.Settings(api_key=key, base_url=url, polling_interval=0.05)
        config = assemblyai.TranscriptionConfig(
            speech_models=["assemblyai-stt-3-7", "universal-2"], speaker_labels=True, language_detection=True
        )
        return assemblyai.Transcriber(client=assemblyai.Client(settings=settings), config=config).transcribe(str(clip))

    async with serve(fake.app()) as url:
        answer = await asyncio.to_thread(transcribe, url, KEY)
        with pytest.raises(assemblyai_types.TranscriptError, match="Authentication error"):
            await asyncio.to_thread(transcribe, url, "other")
    assert answer.status == assemblyai.TranscriptStatus.completed
    assert answer.text == speech.TEXT
    assert [one.speaker for one in answer.utterances] == ["A", "B"]
    assert answer.words[0].start == 100
    assert fake.heard == [AUDIO]


async def test_huggingface_sdk(tmp_path: Path):
    fake = HuggingFace(KEY)
    clip = tmp_path / "clip.wav"
    clip.write_bytes(AUDIO)
    async with serve(fake.app()) as url:
        model = f"{url}/hf-inference/models/openai/whisper-small"

        def transcribe(token: str, **extra: object) -> huggingface_hub.AutomaticSpeechRecognitionOutput:
            client = huggingface_hub.InferenceClient(provider="hf-inference", token=token)
            return client.automatic_speech_recognition(clip, model=model, extra_body=extra or None)

        plain = await asyncio.to_thread(transcribe, KEY)
        timed = await asyncio.to_thread(transcribe, KEY, return_timestamps=True)
        with pytest.raises(huggingface_hub.errors.HfHubHTTPError, match="401"):
            await asyncio.to_thread(transcribe, "other")
    assert plain.text.strip() == speech.TEXT
    assert [chunk.text for chunk in timed.chunks] == [" Hello there.", " How are you?"]
    assert [audio for _, audio in fake.heard] == [AUDIO, AUDIO]
    assert fake.parameters == [{}, {"return_timestamps": True}]


async def test_google_genai_sdk():
    fake = Gemini(KEY)
    async with serve(fake.app()) as url:
        options = genai_types.HttpOptions(base_url=url, api_version="v1beta")
        client = genai.Client(api_key=KEY, http_options=options)
        audio = genai_types.Part.from_bytes(data=AUDIO, mime_type="audio/wav")
        chat = await client.aio.models.generate_content(model="gemini-2.5-flash", contents=["Transcribe.", audio])
        config = genai_types.GenerateContentConfig(
            audio_transcription_config=genai_types.AudioTranscriptionConfig(word_timestamp=True, diarization=True)
        )
        dedicated = await client.aio.models.generate_content(
            model="gemini-3.5-transcribe", contents=[audio], config=config
        )
        stranger = genai.Client(api_key="other", http_options=options)
        with pytest.raises(genai_errors.ClientError, match="API key not valid"):
            await stranger.aio.models.generate_content(model="gemini-2.5-flash", contents=[audio])
        await client.aio.aclose()
        await stranger.aio.aclose()
    turns = [part.audio_transcription for part in dedicated.candidates[0].content.parts if part.audio_transcription]
    assert chat.text == speech.TEXT
    assert [turn.speaker_label for turn in turns] == ["spk_1", "spk_2"]
    assert turns[0].words[0].start_offset == "0.100s"
    assert fake.heard == [("audio/wav", AUDIO)] * 2


@pytest.mark.parametrize(
    ("app", "path", "headers"),
    [
        (OpenAI(KEY), "/v1/audio/transcriptions", {"Authorization": f"Token {KEY}"}),
        (OpenAI(KEY), "/v1/audio/transcriptions", {"x-api-key": KEY}),
        (Groq(KEY), "/openai/v1/audio/transcriptions", {"Authorization": KEY}),
        (Deepgram(KEY), "/v1/listen?model=nova-3", {"Authorization": f"Bearer {KEY}"}),
        (AssemblyAI(KEY), "/v2/upload", {"Authorization": f"Bearer {KEY}"}),
        (HuggingFace(KEY), "/hf-inference/models/openai/whisper-small", {"Authorization": KEY}),
        (Gemini(KEY), "/v1beta/models/gemini-2.5-flash:generateContent", {"Authorization": f"Key {KEY}"}),
    ],
)
async def test_a_fake_takes_only_its_vendors_own_header(
    app: OpenAI | Deepgram | AssemblyAI | HuggingFace | Gemini, path: str, headers: dict[str, str]
):
    async with serve(app.app()) as url, aiohttp.ClientSession() as session:
        async with session.post(url + path, headers=headers, data=AUDIO) as answer:
            assert answer.status == 401
        assert app.heard == []


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("gpt-4o-transcribe-diarize", {"prompt": "p"}),
        ("whisper-1", {"include": ["logprobs"]}),
        ("whisper-1", {"languages": ["en"]}),
        ("whisper-1", {"temperature": 2}),
        ("whisper-1", {"extra_body": {"diarize": "true"}}),
        ("whisper-1", {"timestamp_granularities": ["word"]}),
        ("whisper-1", {"known_speaker_names": ["ann"]}),
        ("gpt-transcribe", {"keywords": ["<b>"]}),
        ("gpt-transcribe", {"language": "english"}),
    ],
)
async def test_openai_refuses_what_the_model_does_not_take(model: str, fields: dict[str, object]):
    async with serve(OpenAI(KEY).app()) as url, openai.AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1") as client:
        with pytest.raises(openai.BadRequestError):
            await client.audio.transcriptions.create(model=model, file=("clip.wav", AUDIO), **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"model": "nova-9"},
        {"model": "nova-3", "language": "spanish"},
        {"model": "nova-3", "keywords": "a"},
        {"model": "nova-2", "keyterm": "a"},
        {"model": "nova-3", "diarize_model": "v9"},
    ],
)
async def test_deepgram_refuses_what_the_model_does_not_take(fields: dict[str, str]):
    async with serve(Deepgram(KEY).app()) as url:
        environment = DeepgramClientEnvironment(base=url, production=url, agent=url, agent_rest=url)
        client = deepgram.AsyncDeepgramClient(api_key=KEY, environment=environment)
        with pytest.raises(ApiError) as refused:
            await client.listen.v1.media.transcribe_file(request=AUDIO, **fields)
    assert refused.value.status_code == 400


@pytest.mark.parametrize(
    ("app", "path", "headers", "body", "status"),
    [
        (AssemblyAI(KEY), "/v2/upload", {"Authorization": KEY, "Content-Type": "audio/wav"}, AUDIO, 422),
        (AssemblyAI(KEY), "/v2/transcript", {"Authorization": KEY}, b'{"language_code": "es-MX"}', 400),
        (Deepgram(KEY), "/v1/listen?model=nova-3&model=nova-2", {"Authorization": f"Token {KEY}"}, AUDIO, 400),
        (
            Deepgram(KEY),
            "/v1/listen?model=nova-3",
            {"Authorization": f"Token {KEY}", "Content-Type": "a/b"},
            AUDIO,
            400,
        ),
        (
            HuggingFace(KEY),
            "/hf-inference/models/openai/whisper-small",
            {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
            b'{"inputs": "AAAA", "parameters": {"language": "es"}}',
            422,
        ),
        (
            Gemini(KEY),
            "/v1beta/models/gemini-2.5-flash:generateContent",
            {"x-goog-api-key": KEY},
            b'{"contents": [{"parts": [{"text": "a"}]}], "generationConfig": {"thinkingConfig": {"thinkingLevel": 1}}}',
            400,
        ),
        (
            Gemini(KEY),
            "/v1beta/models/gemini-2.5-flash:generateContent",
            {"x-goog-api-key": KEY},
            b'{"contents": [{"parts": [{"text": "a"}]}], "language": "es"}',
            400,
        ),
    ],
    ids=["upload type", "language code", "twice", "audio type", "parameters", "thinking", "unknown member"],
)
async def test_a_fake_refuses_what_its_vendor_refuses(
    app: Deepgram | AssemblyAI | HuggingFace | Gemini, path: str, headers: dict[str, str], body: bytes, status: int
):
    headers = {"Content-Type": "application/octet-stream", **headers}
    async with serve(app.app()) as url, aiohttp.ClientSession() as session:
        if path.endswith(("transcript", "generateContent")):
            headers["Content-Type"] = "application/json"
        if path.endswith("transcript"):
            body = b'{"audio_url": "https://cdn.assemblyai.com/upload/0", "speech_models": ["universal-2"], ' + body[1:]
        async with session.post(url + path, headers=headers, data=body) as answer:
            assert answer.status == status, await answer.text()
    assert app.heard == []


async def test_gemini_refuses_two_credentials():
    async with serve(Gemini(KEY).app()) as url, aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Key {KEY}", "x-goog-api-key": KEY}
        async with session.post(f"{url}/v1beta/models/gemini-2.5-flash:generateContent", headers=headers) as answer:
            assert answer.status == 400
            assert "Multiple authentication credentials" in await answer.text()
