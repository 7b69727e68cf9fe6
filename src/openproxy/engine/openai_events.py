"""OpenAI's stream of a transcription: deltas as segments come, the segments themselves where asked for, done, `[DONE]`.

Sources: contracts/upstreams.md, D.1; contracts/engine.md, decision 10; case B14.
"""

from collections.abc import AsyncIterator
from dataclasses import replace

from openproxy.engine.models import Item, Piece, Progress
from openproxy.formats import events
from openproxy.transcript import Segment, Transcript
from openproxy.web import sse


async def frames(first: Item, rest: AsyncIterator[Item], *, segments: bool) -> AsyncIterator[bytes]:
    """The frames of a job whose first result has come. The deltas joined are the text of `done`.

    What `rest` raises passes through: the stream then ends with an error instead of `done` and `[DONE]`.
    """
    state = _State(segments=segments)
    for frame in state.of(first):
        yield frame
    if isinstance(first, Transcript):
        return
    async for result in rest:
        for frame in state.of(result):
            yield frame


class _State:
    """What was sent so far."""

    def __init__(self, *, segments: bool) -> None:
        self._segments = segments
        self._deltas = events.Deltas()
        self._sent: list[str] = []
        self._count = 0

    def of(self, result: Item) -> list[bytes]:
        """The frames for one more result."""
        match result:
            case Segment():
                return [*self._delta(self._deltas.push(result.text)), *self._segment(result)]
            case Piece(text):
                return self._delta(text)
            case Transcript():
                sent = "".join(self._sent)
                last = self._delta(result.text[len(sent) :] if result.text.startswith(sent) else "")
                return [*last, sse.frame(events.done(replace(result, text="".join(self._sent)))), sse.DONE]
            case Progress():
                return []

    def _delta(self, text: str) -> list[bytes]:
        self._sent.append(text)
        return [sse.frame(events.delta(text))] if text else []

    def _segment(self, segment: Segment) -> list[bytes]:
        """The event of a segment; where nobody knows who speaks, the speaker is empty."""
        if not self._segments:
            return []
        event = events.segment(segment, self._count) | {"speaker": segment.speaker or ""}
        self._count += 1
        return [sse.frame(event)]
