from collections.abc import AsyncIterator

import pytest

from openproxy.engine.llama import events
from openproxy.engine.models import Progress
from openproxy.errors import AudioUnreadable, Busy, OpenProxyError, WorkerDied
from openproxy.transcript import Segment, Transcript, Usage, from_segments

Item = events.Result | OpenProxyError


async def results(*items: Item, closed: list[bool] | None = None) -> AsyncIterator[events.Result]:
    try:
        for item in items:
            if isinstance(item, OpenProxyError):
                raise item
            yield item
    finally:
        if closed is not None:
            closed.append(True)


async def streamed(*items: Item) -> bytes:
    return b"".join([frame async for frame in await events.opened(results(*items))])


def segments(*texts: str) -> list[Segment]:
    return [Segment(text, float(at), at + 1.0) for at, text in enumerate(texts)]


USAGE = '"usage":{"type":"tokens","input_tokens":3,"output_tokens":2,"total_tokens":5,"input_tokens_details":{"cached_tokens":0}}'


async def test_a_stream_is_deltas_then_done_then_the_end_mark() -> None:
    parts = segments(" Guten Tag.", " 日本語 🙂")
    whole = from_segments(parts, usage=Usage(input_tokens=3, output_tokens=2))
    assert (
        await streamed(Progress(0.0, 2.0), parts[0], Progress(1.0, 2.0), parts[1], whole)
        == (
            'data: {"type":"transcript.text.delta","delta":"Guten Tag."}\n\n'
            'data: {"type":"transcript.text.delta","delta":" 日本語 🙂"}\n\n'
            'data: {"type":"transcript.text.done","text":"Guten Tag. 日本語 🙂",' + USAGE + "}\n\n"
            "data: [DONE]\n\n"
        ).encode()
    )


async def test_silence_has_no_delta() -> None:
    body = await streamed(Transcript("", usage=Usage(input_tokens=3, output_tokens=2)))
    assert body == ('data: {"type":"transcript.text.done","text":"",' + USAGE + "}\n\ndata: [DONE]\n\n").encode()


@pytest.mark.parametrize(
    ("texts", "deltas"),
    [
        ([" a", " b"], ["a", " b"]),
        (["  ", " a ", "  ", " b "], ["a", "    b"]),
        (["a\n", "\nb\n\n"], ["a", "\n\nb"]),
        ([" ", "\n"], []),
        (["", "a", ""], ["a"]),
    ],
)
async def test_deltas_joined_are_the_text_of_done_and_none_is_empty(texts: list[str], deltas: list[str]) -> None:
    cutter = events.Deltas()
    got = [piece for piece in map(cutter.next, texts) if piece]
    whole = from_segments(segments(*texts)).text
    assert (got, "".join(got), cutter.rest(whole)) == (deltas, whole, "")


async def test_text_that_no_segment_brought_comes_as_a_last_delta() -> None:
    body = await streamed(*segments("one"), Transcript("one two"))
    assert b'"delta":"one"}\n\ndata: {"type":"transcript.text.delta","delta":" two"}\n\n' in body
    assert b'"text":"one two"' in body


async def test_a_text_that_was_cut_shorter_than_its_deltas_is_what_was_sent() -> None:
    assert b'"text":"one two"' in await streamed(*segments("one two"), Transcript("one"))


@pytest.mark.parametrize("error", [AudioUnreadable("empty", code="empty_audio"), Busy("full")])
async def test_an_error_before_the_first_frame_is_raised(error: OpenProxyError) -> None:
    with pytest.raises(type(error)) as caught:
        await events.opened(results(Progress(0.0, None), error))
    assert caught.value is error


async def test_an_error_after_the_first_frame_is_the_last_one() -> None:
    assert await streamed(*segments("one"), WorkerDied("the worker ended")) == (
        b'data: {"type":"transcript.text.delta","delta":"one"}\n\n'
        b'data: {"error":{"code":503,"message":"the worker ended","type":"unavailable_error"}}\n\n'
    )


async def test_closing_the_frames_closes_the_work() -> None:
    closed: list[bool] = []
    frames = await events.opened(results(*segments("one", "two", "three"), closed=closed))
    await anext(frames)
    assert closed == []
    await frames.aclose()
    assert closed == [True]
