"""json, verbose_json and diarized_json: complete bodies, and strictly read by the types of OpenAI's SDK."""

import json
from dataclasses import replace
from typing import Any

import pytest
from openai.types.audio import Transcription, TranscriptionDiarized, TranscriptionVerbose
from pydantic import BaseModel, ConfigDict

from openproxy import formats
from openproxy.errors import BadRequest, FormatUnavailable
from openproxy.transcript import Segment, Transcript, Usage, Word, from_segments
from support.transcripts import words

HELLO = Segment(
    " Hello, wörld.",
    0.0,
    1.48,
    words=(Word(" Hello,", 0.0, 0.62, 0.98), Word(" wörld.", 0.62, 1.48, 0.91)),
    seek=0,
    tokens=(50363, 18435, 11),
    temperature=0.0,
    avg_logprob=-0.25,
    compression_ratio=0.9,
    no_speech_prob=0.01,
)
WHISPER = from_segments(
    [HELLO, Segment(' 会议 "now".', 2.0, 3.5, seek=200, temperature=0.2)],
    language="en",
    duration=4.2,
    usage=Usage(input_tokens=1503, output_tokens=12, seconds=4.2),
)
CHAT = Transcript("Hello.", usage=Usage(input_tokens=60, output_tokens=5, text_tokens=10, audio_tokens=50))
TALK = from_segments(
    [Segment(" Hi.", 0.0, 0.5, speaker="A"), Segment(" Ho.", 0.5, 1.0, speaker="Ann")], language="de", duration=1.5
)


def body(transcript: Transcript, name: str, **options: Any) -> str:
    rendered = formats.render(transcript, name, **options)
    assert rendered.content_type == "application/json"
    return rendered.body.decode()


def strictly(kind: type[BaseModel], text: str) -> BaseModel:
    """Read with the SDK's own type, with no field that it does not know and no value of another type."""
    strict = type(kind.__name__, (kind,), {"model_config": ConfigDict(extra="forbid")})
    allowed = {"task"} if kind is TranscriptionVerbose else set()
    value = {key: part for key, part in json.loads(text).items() if key not in allowed}
    return strict.model_validate_json(json.dumps(value), strict=True)


def test_json() -> None:
    text = body(WHISPER, "json")
    assert text == r'{"text":"Hello, wörld. 会议 \"now\".","usage":{"type":"duration","seconds":4.2}}'
    assert strictly(Transcription, text).usage.seconds == 4.2


def test_json_of_a_model_that_counts_tokens() -> None:
    text = body(CHAT, "json")
    assert text == (
        '{"text":"Hello.","usage":{"type":"tokens","input_tokens":60,'
        '"input_token_details":{"text_tokens":10,"audio_tokens":50},"output_tokens":5,"total_tokens":65}}'
    )
    assert strictly(Transcription, text).usage.input_token_details.audio_tokens == 50


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, '{"text":"Hello."}'),
        (Usage(), '{"text":"Hello."}'),
        (Usage(output_tokens=3), '{"text":"Hello."}'),
        (
            Usage(input_tokens=0, output_tokens=0),
            '{"text":"Hello.","usage":{"type":"tokens","input_tokens":0,"output_tokens":0,"total_tokens":0}}',
        ),
        (Usage(seconds=0.0), '{"text":"Hello.","usage":{"type":"duration","seconds":0.0}}'),
        (Usage(seconds=7), '{"text":"Hello.","usage":{"type":"duration","seconds":7.0}}'),
    ],
)
def test_usage_is_told_only_where_it_is_known(usage: Usage | None, expected: str) -> None:
    text = body(replace(CHAT, usage=usage), "json")
    assert text == expected
    strictly(Transcription, text)


SEGMENTS = (
    '"segments":[{"id":0,"seek":0,"start":0.0,"end":1.48,"text":" Hello, wörld.","tokens":[50363,18435,11],'
    '"temperature":0.0,"avg_logprob":-0.25,"compression_ratio":0.9,"no_speech_prob":0.01},'
    '{"id":1,"seek":200,"start":2.0,"end":3.5,"text":" 会议 \\"now\\".","tokens":[],'
    '"temperature":0.2,"avg_logprob":0.0,"compression_ratio":0.0,"no_speech_prob":0.0}]'
)
WORDS = '"words":[{"word":"Hello,","start":0.0,"end":0.62},{"word":"wörld.","start":0.62,"end":1.48}]'


@pytest.mark.parametrize(
    ("granularities", "parts"),
    [
        (None, [SEGMENTS]),
        ((), [SEGMENTS]),
        (("segment",), [SEGMENTS]),
        (["word"], [WORDS]),
        ({"segment", "word"}, [WORDS, SEGMENTS]),
    ],
)
def test_verbose_json(granularities: Any, parts: list[str]) -> None:
    options = {} if granularities is None else {"granularities": granularities}
    text = body(WHISPER, "verbose_json", **options)
    head = '{"task":"transcribe","language":"english","duration":4.2,"text":"Hello, wörld. 会议 \\"now\\".",'
    assert text == head + ",".join(parts) + ',"usage":{"type":"duration","seconds":4.2}}'
    strictly(TranscriptionVerbose, text)


def test_verbose_json_of_silence() -> None:
    silence = Transcript("", language="en", duration=5.0)
    text = body(silence, "verbose_json", granularities=("word", "segment"))
    assert text == '{"task":"transcribe","language":"english","duration":5.0,"text":"","words":[],"segments":[]}'
    strictly(TranscriptionVerbose, text)


def test_verbose_json_of_a_translation_is_english() -> None:
    told = from_segments([Segment(" Hello.", 0, 1)], language="es", duration=1.0, task="translate")
    value = json.loads(body(told, "verbose_json"))
    assert (value["task"], value["language"]) == ("translate", "english")


@pytest.mark.parametrize(
    ("transcript", "language", "duration"),
    [
        (from_segments([Segment(" Hola.", 0, 1.25)], language="es-MX"), "spanish", 1.25),
        (from_segments([Segment(" A.", 0, 1.25)], language="ga", usage=Usage(seconds=3.0)), "ga", 3.0),
        (Transcript(""), "unknown", 0.0),
    ],
)
def test_what_the_source_leaves_out(transcript: Transcript, language: str, duration: float) -> None:
    text = body(transcript, "verbose_json")
    read = strictly(TranscriptionVerbose, text)
    assert (read.language, read.duration) == (language, duration)


def test_numbers_that_are_none() -> None:
    odd = Segment(" A.", float("nan"), float("inf"), avg_logprob=float("-inf"), no_speech_prob=float("nan"))
    read = strictly(TranscriptionVerbose, body(from_segments([odd]), "verbose_json"))
    assert (read.duration, read.segments[0].avg_logprob, read.segments[0].end) == (0.0, 0.0, 0.0)


def test_text_that_is_no_unicode() -> None:
    assert body(Transcript("a\ud83cb"), "json") == '{"text":"a?b"}'


def test_segments_are_made_of_words_where_the_source_tells_words_only() -> None:
    told = words("Good morning. And good night!", 1.0)
    transcript = Transcript("Good morning. And good night!", duration=4.0, words=told.words)
    read = strictly(TranscriptionVerbose, body(transcript, "verbose_json"))
    assert [(part.id, part.start, part.end, part.text) for part in read.segments] == [
        (0, 1.0, 1.65, " Good morning."),
        (1, 1.7, 2.7, " And good night!"),
    ]


def test_diarized_json() -> None:
    text = body(TALK, "diarized_json")
    assert text == (
        '{"task":"transcribe","duration":1.5,"text":"Hi. Ho.","segments":['
        '{"type":"transcript.text.segment","id":"seg_0","start":0.0,"end":0.5,"text":"Hi.","speaker":"A"},'
        '{"type":"transcript.text.segment","id":"seg_1","start":0.5,"end":1.0,"text":"Ho.","speaker":"Ann"}]}'
    )
    strictly(TranscriptionDiarized, text)


def test_diarized_json_from_words() -> None:
    one, two = words("Yes of course.", 0, speaker="A"), words("No.", 1.05, speaker="B")
    transcript = Transcript(
        "Yes of course. No.", duration=2.0, words=one.words + two.words, usage=Usage(input_tokens=1, output_tokens=2)
    )
    for source in (transcript, replace(transcript, segments=(Segment(" Yes of course. No.", 0, 2, transcript.words),))):
        read = strictly(TranscriptionDiarized, body(source, "diarized_json"))
        assert [(part.speaker, part.text, part.start) for part in read.segments] == [
            ("A", "Yes of course.", 0.0),
            ("B", "No.", 1.05),
        ]
        assert read.usage.total_tokens == 3


def test_a_stretch_without_a_speaker_among_others() -> None:
    mixed = replace(TALK, segments=(TALK.segments[0], Segment(" Hm.", 2, 3)))
    read = strictly(TranscriptionDiarized, body(mixed, "diarized_json"))
    assert [part.speaker for part in read.segments] == ["A", "unknown"]


def test_diarized_json_of_silence() -> None:
    text = body(Transcript("", duration=5.0), "diarized_json")
    assert text == '{"task":"transcribe","duration":5.0,"text":"","segments":[]}'
    strictly(TranscriptionDiarized, text)


@pytest.mark.parametrize(
    ("transcript", "name", "granularities", "param", "message"),
    [
        (
            TALK,
            "verbose_json",
            ("word",),
            "timestamp_granularities[]",
            "verbose_json with the timestamp granularity 'word' needs the times of words, "
            "and this transcript does not have them",
        ),
        (
            CHAT,
            "verbose_json",
            ("segment",),
            "timestamp_granularities[]",
            "verbose_json with the timestamp granularity 'segment' needs the times of segments, "
            "and this transcript does not have them",
        ),
        (
            WHISPER,
            "diarized_json",
            ("segment",),
            "response_format",
            "diarized_json needs to know who speaks, and this transcript does not tell any speaker",
        ),
    ],
)
def test_what_is_missing_is_named(
    transcript: Transcript, name: str, granularities: tuple[str, ...], param: str, message: str
) -> None:
    with pytest.raises(FormatUnavailable) as caught:
        formats.render(transcript, name, granularities=granularities)
    error = caught.value
    assert (error.status, error.param, error.code, error.message) == (400, param, "unsupported_format", message)


def test_unknown_granularities_are_refused() -> None:
    with pytest.raises(BadRequest) as caught:
        formats.render(WHISPER, "verbose_json", granularities=("word", "sentence"))
    assert caught.value.param == "timestamp_granularities[]"
    assert caught.value.message == "Unknown timestamp granularity 'sentence'; allowed are word, segment"
