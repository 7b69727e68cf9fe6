"""OpenAI's stream from what a model yields: byte by byte."""

from collections.abc import AsyncIterator

import pytest

from openproxy.engine.models import Item, Piece, Progress
from openproxy.engine.openai_events import frames
from openproxy.errors import WorkerDied
from openproxy.transcript import Segment, Transcript


async def yielding(*items: Item | Exception) -> AsyncIterator[Item]:
    for item in items:
        if isinstance(item, Exception):
            raise item
        yield item


async def stream(*items: Item, segments: bool = False) -> str:
    results = yielding(*items)
    return b"".join([frame async for frame in frames(await anext(results), results, segments=segments)]).decode()


async def test_segments_become_deltas_that_join_to_the_text() -> None:
    sent = await stream(
        Segment(" One. ", 0.0, 1.0),
        Progress(1.0, 2.0),
        Segment("  Two ", 1.0, 2.0),
        Transcript("One.   Two"),
    )
    assert sent == (
        'data: {"type":"transcript.text.delta","delta":"One."}\n\n'
        'data: {"type":"transcript.text.delta","delta":"   Two"}\n\n'
        'data: {"type":"transcript.text.done","text":"One.   Two"}\n\n'
        "data: [DONE]\n\n"
    )


async def test_segments_with_and_without_a_speaker() -> None:
    sent = await stream(
        Segment(" Hi", 0.0, 0.5, speaker="A"), Segment(" there", 0.5, 1.25), Transcript("Hi there"), segments=True
    )
    assert sent == (
        'data: {"type":"transcript.text.delta","delta":"Hi"}\n\n'
        'data: {"type":"transcript.text.segment","id":"seg_0","start":0.0,"end":0.5,"text":"Hi","speaker":"A"}\n\n'
        'data: {"type":"transcript.text.delta","delta":" there"}\n\n'
        'data: {"type":"transcript.text.segment","id":"seg_1","start":0.5,"end":1.25,"text":"there","speaker":""}\n\n'
        'data: {"type":"transcript.text.done","text":"Hi there"}\n\n'
        "data: [DONE]\n\n"
    )


async def test_pieces_are_deltas_as_they_are() -> None:
    sent = await stream(Piece(" Guten"), Piece(" Tag "), Transcript(" Guten Tag "))
    assert sent == (
        'data: {"type":"transcript.text.delta","delta":" Guten"}\n\n'
        'data: {"type":"transcript.text.delta","delta":" Tag "}\n\n'
        'data: {"type":"transcript.text.done","text":" Guten Tag "}\n\n'
        "data: [DONE]\n\n"
    )


async def test_silence_is_done_alone() -> None:
    assert await stream(Transcript("")) == ('data: {"type":"transcript.text.done","text":""}\n\ndata: [DONE]\n\n')


async def test_a_failure_passes_through_without_done() -> None:
    results = yielding(Segment(" One", 0.0, 1.0), WorkerDied("gone"))
    sent = frames(await anext(results), results, segments=False)
    assert await anext(sent) == b'data: {"type":"transcript.text.delta","delta":"One"}\n\n'
    with pytest.raises(WorkerDied):
        await anext(sent)
