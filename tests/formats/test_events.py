"""The events of a stream: complete objects, strictly read by OpenAI's types, and deltas that joined give the text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.audio import (
    TranscriptionTextDeltaEvent,
    TranscriptionTextDoneEvent,
    TranscriptionTextSegmentEvent,
)
from openai.types.audio.transcription_stream_event import TranscriptionStreamEvent
from pydantic import TypeAdapter

from openproxy.formats import events
from openproxy.transcript import Segment, Transcript, Usage, from_segments

STREAM_EVENT: TypeAdapter[Any] = TypeAdapter(TranscriptionStreamEvent)


def read(event: dict[str, Any]) -> Any:
    return STREAM_EVENT.validate_json(json.dumps(event), strict=True)


def test_delta() -> None:
    event = events.delta(" wörld")
    assert event == {"type": "transcript.text.delta", "delta": " wörld"}
    assert isinstance(read(event), TranscriptionTextDeltaEvent)


def test_segment() -> None:
    event = events.segment(Segment(" Hi.", 0, 1.23456789, speaker="A"), 3)
    assert event == {
        "type": "transcript.text.segment",
        "id": "seg_3",
        "start": 0.0,
        "end": 1.234568,
        "text": "Hi.",
        "speaker": "A",
    }
    assert isinstance(read(event), TranscriptionTextSegmentEvent)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, {}),
        (Usage(seconds=4.2), {}),
        (Usage(input_tokens=4), {}),
        (
            Usage(input_tokens=1503, output_tokens=9, seconds=4.2),
            {"usage": {"type": "tokens", "input_tokens": 1503, "output_tokens": 9, "total_tokens": 1512}},
        ),
        (
            Usage(input_tokens=60, output_tokens=9, audio_tokens=50),
            {
                "usage": {
                    "type": "tokens",
                    "input_tokens": 60,
                    "input_token_details": {"audio_tokens": 50},
                    "output_tokens": 9,
                    "total_tokens": 69,
                }
            },
        ),
    ],
)
def test_done(usage: Usage | None, expected: dict[str, Any]) -> None:
    event = events.done(Transcript("Hello.", usage=usage))
    assert event == {"type": "transcript.text.done", "text": "Hello."} | expected
    assert isinstance(read(event), TranscriptionTextDoneEvent)


def test_deltas() -> None:
    texts = ["  ", " Good", " morning", ".", "", " \n", "Bye.", " ", "\n"]
    segments = [Segment(text, 0, 1) for text in texts]
    assert list(events.deltas(segments)) == ["Good", " morning", ".", " \nBye."]


@given(st.lists(st.text(st.sampled_from(" \n\t\u3000ab.日é"), max_size=5), max_size=8))
def test_deltas_joined_are_the_text(texts: list[str]) -> None:
    segments = [Segment(text, 0, 1) for text in texts]
    deltas = list(events.deltas(segments))
    assert "".join(deltas) == from_segments(segments).text
    assert all(deltas)


def test_pushing_gives_the_same_one_by_one() -> None:
    state = events.Deltas()
    assert [state.push(text) for text in [" ", "Hi ", " ", "there", "! "]] == ["", "Hi", "", "  there", "!"]
