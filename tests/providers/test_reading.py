"""Whatever JSON an upstream sends, reading it gives a Transcript, and its times make sense."""

import json
import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from openproxy import formats
from openproxy.errors import FormatUnavailable, UpstreamError
from openproxy.providers import openai_answers, reading, timing
from openproxy.providers.assemblyai import _read as read_assemblyai
from openproxy.providers.catalog import PROVIDERS
from openproxy.providers.deepgram import Deepgram
from openproxy.providers.gemini import Gemini
from openproxy.providers.huggingface import HuggingFace
from openproxy.transcript import Segment, Transcript, Word
from support.providers import asked

NAMES = st.sampled_from(
    [
        "text",
        "words",
        "word",
        "punctuated_word",
        "start",
        "end",
        "confidence",
        "speaker",
        "segments",
        "utterances",
        "results",
        "channels",
        "alternatives",
        "transcript",
        "metadata",
        "duration",
        "detected_language",
        "language",
        "languages",
        "candidates",
        "content",
        "parts",
        "audioTranscription",
        "startOffset",
        "endOffset",
        "chunks",
        "timestamp",
        "usage",
        "usageMetadata",
        "tokens",
        "audio_duration",
        "language_code",
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-10, 10**12)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["1.5s", "en"])
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=25,
)
REQUEST = asked("gemini-3.5-transcribe", rendered=True)


def wrapped(document: Any) -> list[Any]:
    """The document itself, and where each vendor puts the heart of its answer."""
    return [
        document,
        {"results": {"channels": [{"alternatives": [document]}, document], "utterances": [document]}},
        {"text": "a b", "words": [document, document], "utterances": [document], "segments": [document, document]},
        {"text": "a", "chunks": [document, {"text": "x", "timestamp": document}]},
        {
            "candidates": [{"content": {"parts": [document, {"audioTranscription": document}]}}],
            "usageMetadata": document,
        },
    ]


@settings(max_examples=150, deadline=None)
@given(DOCUMENTS)
@example({"text": "a", "word": "a", "transcript": "a", "start": 1.0, "end": 1e308})
@example({"text": "a", "word": "a", "transcript": "a", "start": -1, "end": float("inf"), "duration": float("nan")})
def test_no_shape_makes_reading_fail(document: Any):
    for whole in wrapped(document):
        for transcript in (
            Deepgram(PROVIDERS["deepgram"]).read(REQUEST, whole),
            HuggingFace(PROVIDERS["huggingface"]).read(REQUEST, whole),
            Gemini(PROVIDERS["gemini"]).read(REQUEST, whole),
            read_assemblyai(REQUEST, whole),
            openai_answers.read(json.dumps(whole).encode(), "application/json", "OpenAI", REQUEST),
        ):
            sound(transcript)


def sound(transcript: Transcript) -> None:
    assert isinstance(transcript.text, str)
    for part in (*transcript.segments, *transcript.words):
        assert math.isfinite(part.start)
        assert part.start <= part.end
    for name in formats.NAMES:
        try:
            formats.render(transcript, name)
        except FormatUnavailable:
            assert name in ("srt", "vtt", "verbose_json", "diarized_json")


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b"NaN1"])
def test_what_is_not_json(body: bytes):
    assert not reading.is_json(body)
    with pytest.raises(UpstreamError, match=r"^Failed parsing Vendor response: "):
        reading.document(body, "Vendor")


def test_sentences_end_at_punctuation_pauses_and_speakers():
    words = (
        Word(" One", 0.0, 0.2, speaker="A"),
        Word(" two.", 0.2, 0.4, speaker="A"),
        Word(" Three", 0.4, 0.6, speaker="A"),
        Word(" four", 1.5, 1.6, speaker="A"),
        Word(" five", 1.6, 1.8, speaker="B"),
    )
    assert timing.sentences(words) == (
        Segment(" One two.", 0.0, 0.4, words[:2], "A"),
        Segment(" Three", 0.4, 0.6, words[2:3], "A"),
        Segment(" four", 1.5, 1.6, words[3:4], "A"),
        Segment(" five", 1.6, 1.8, words[4:], "B"),
    )
    assert timing.sentences(()) == ()


@pytest.mark.parametrize(
    ("told", "said", "hold"),
    [
        (["Hello,", " how are you?"], "Hello, how are you?", True),
        (["hello", " how are you"], "Hello — how are you?", True),
        (["Hello,"], "Hello, how are you?", False),
        (["今天天气很好，", "我们去公园。"], "今天天气很好，我们去公园。", True),
        (["今天天气很好，"], "今天天气很好，我们去公园。", False),
        ([], "", True),
    ],
)
def test_segments_hold_a_text_where_they_have_its_letters(told: list[str], said: str, hold: bool):
    assert timing.hold([Segment(text, 0, 1) for text in told], said) is hold


@pytest.mark.parametrize(
    ("value", "letter"),
    [
        (0, "A"),
        (25, "Z"),
        (26, "S26"),
        ("anna", "anna"),
        (" ", None),
        (None, None),
        (-1, None),
        (True, None),
        (1.5, None),
    ],
)
def test_speakers_are_letters(value: object, letter: str | None):
    assert timing.speaker_letter(value) == letter
