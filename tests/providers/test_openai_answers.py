"""What is read of the OpenAI wire's answers where the gateway makes the format, and what is asked for to get it."""

from pathlib import Path

import pytest

from fakes import speech
from fakes.loopback import serve
from fakes.openai import Groq, OpenAI
from fakes.recorder import recorder
from openproxy.errors import UpstreamError
from openproxy.transcript import Segment, Transcript, Usage, Word
from support.providers import SECRET, account, asked, transcribe

DATA = Path(__file__).parents[1] / "data"
WORDS = (
    Word(" Hello", 0.1, 0.4),
    Word(" there.", 0.4, 0.9),
    Word(" How", 2.0, 2.2),
    Word(" are", 2.2, 2.4),
    Word(" you?", 2.4, 2.8),
)


def segments(*, words: bool) -> tuple[Segment, ...]:
    whisper = {"temperature": 0.0, "avg_logprob": -0.25, "compression_ratio": 1.1, "no_speech_prob": 0.01}
    return (
        Segment(" Hello there.", 0.1, 0.9, WORDS[:2] if words else (), tokens=(50364, 0), **whisper),
        Segment(" How are you?", 2.0, 2.8, WORDS[2:] if words else (), tokens=(50364, 1), **whisper),
    )


def plain(word: Word) -> Word:
    return Word(word.text.rstrip(".?"), word.start, word.end)


async def test_verbose_json_is_read_in_full():
    fake = OpenAI(SECRET)
    async with serve(fake.app()) as url:
        reply = await transcribe(
            asked("whisper-1", ("response_format", "srt"), ("stream", "true"), ("diarize", "1"), rendered=True),
            account("openai", url),
        )
    assert fake.forms == [
        [
            ("model", "whisper-1"),
            ("response_format", "verbose_json"),
            ("timestamp_granularities[]", "word"),
            ("timestamp_granularities[]", "segment"),
        ]
    ]
    assert reply.answer == Transcript(
        text=speech.TEXT,
        language="en",
        duration=3.5,
        segments=segments(words=True),
        words=tuple(word for part in segments(words=True) for word in part.words),
        usage=Usage(seconds=4),
    )
    assert reply.ignored == ("diarize",)


async def test_word_times_only_where_they_are_needed():
    fake = Groq(SECRET)
    async with serve(fake.app()) as url:
        reply = await transcribe(asked("whisper-large-v3", rendered=True), account("groq", url))
    assert fake.forms == [[("model", "whisper-large-v3"), ("response_format", "verbose_json")]]
    assert reply.answer == Transcript(speech.TEXT, "en", 3.5, segments=segments(words=False), usage=Usage(seconds=4))


async def test_speakers_of_the_diarizing_model():
    fake = OpenAI(SECRET)
    async with serve(fake.app()) as url:
        reply = await transcribe(
            asked("gpt-4o-transcribe-diarize", ("response_format", "diarized_json"), rendered=True),
            account("openai", url),
        )
    assert fake.forms == [
        [("model", "gpt-4o-transcribe-diarize"), ("response_format", "diarized_json"), ("chunking_strategy", "auto")]
    ]
    assert reply.answer == Transcript(
        text=speech.TEXT,
        duration=3.5,
        segments=(
            Segment(" Hello there.", 0.1, 0.9, speaker="A"),
            Segment(" How are you?", 2.0, 2.8, speaker="B"),
        ),
        usage=Usage(seconds=4),
    )


async def test_a_model_that_gives_only_json_is_not_asked_for_more():
    fake = OpenAI(SECRET)
    async with serve(fake.app()) as url:
        reply = await transcribe(
            asked("gpt-transcribe", ("response_format", "vtt"), ("include[]", "logprobs"), rendered=True),
            account("openai", url),
        )
    assert fake.forms == [[("model", "gpt-transcribe"), ("response_format", "json")]]
    assert reply.answer == Transcript(speech.TEXT, usage=Usage(seconds=4))
    assert reply.ignored == ("include[]",)


@pytest.mark.parametrize(
    ("model", "wanted", "asked_for"),
    [
        ("ggml-base", "vtt", "verbose_json"),
        ("ggml-base", "json", "json"),
        ("ggml-base", None, "json"),
        ("gpt-5-transcribe", "srt", "json"),
        ("my-diarize", "diarized_json", "diarized_json"),
    ],
)
async def test_models_that_the_catalogue_does_not_know(model: str, wanted: str | None, asked_for: str):
    fields = [("response_format", wanted)] if wanted else []
    async with recorder({"text": " hi ", "language": "xx-klingon"}) as upstream:
        reply = await transcribe(asked(model, *fields, rendered=True), account("selfhosted-stt", upstream.url))
    assert f'name="response_format"\r\n\r\n{asked_for}\r\n'.encode() in upstream.seen[0].body
    assert reply.answer == Transcript("hi", "xx-klingon")


async def test_a_server_that_answers_with_plain_text_is_understood():
    async with recorder(b"just words\n", content_type="text/plain") as upstream:
        reply = await transcribe(asked("m", rendered=True), account("selfhosted-stt", upstream.url))
    assert reply.answer == Transcript("just words")


async def test_token_usage():
    usage = {
        "type": "tokens",
        "input_tokens": 30,
        "input_token_details": {"text_tokens": 4, "audio_tokens": 26},
        "output_tokens": 5,
        "total_tokens": 35,
    }
    async with recorder({"text": "x", "usage": usage, "languages": [{"code": "pl"}]}) as upstream:
        reply = await transcribe(asked("gpt-transcribe", rendered=True), account("openai", upstream.url))
    assert reply.answer == Transcript("x", "pl", usage=Usage(30, 5, 4, 26))


@pytest.mark.parametrize("body", [b'{"text": "half', b"<html>login</html>", b"\xff\xfe"])
async def test_an_answer_that_cannot_be_read_is_a_502(body: bytes):
    async with recorder(body) as upstream:
        with pytest.raises(UpstreamError) as raised:
            await transcribe(asked("m", rendered=True), account("openai", upstream.url))
    assert raised.value.status == 502
    assert raised.value.message.startswith("Failed parsing OpenAI response: ")


@pytest.mark.parametrize(
    "document", [[], None, 5, {"text": 5, "words": {}, "segments": [None, {"start": "x"}, 3], "usage": []}]
)
async def test_shapes_that_are_not_openais_give_an_empty_text(document: object):
    async with recorder(document) as upstream:
        reply = await transcribe(asked("m", rendered=True), account("openai", upstream.url))
    assert reply.answer == Transcript("")


async def test_a_translation_is_read_without_the_language_of_its_output():
    fake = OpenAI(SECRET)
    async with serve(fake.app()) as url:
        reply = await transcribe(
            asked("whisper-1", ("response_format", "vtt"), rendered=True, translate=True), account("openai", url)
        )
    assert fake.forms == [[("model", "whisper-1"), ("response_format", "verbose_json")]]
    assert reply.answer == Transcript(
        speech.TEXT, None, 3.5, segments=segments(words=False), usage=Usage(seconds=4), task="translate"
    )
