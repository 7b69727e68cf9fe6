"""A transcription as a stream of events: a delta for every segment, the done object, `[DONE]`.

Source: contracts/engine.md, section 7.3 and decision 10.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

from openproxy.engine.llama.replies import done_object, error_object
from openproxy.engine.models import Item, Piece, Progress
from openproxy.errors import OpenProxyError
from openproxy.transcript import Segment, Transcript
from openproxy.web import sse

Result = Item
"""What a transcription yields, the Transcript last."""


def delta(text: str) -> bytes:
    """A piece of the text."""
    return sse.frame({"type": "transcript.text.delta", "delta": text})


def done(transcript: Transcript) -> bytes:
    """The whole text, and what it cost."""
    return sse.frame(done_object(transcript.text, transcript.usage))


def failed(error: OpenProxyError) -> bytes:
    """What a stream that was already opened ends with, in place of `done` and `[DONE]`."""
    return sse.frame({"error": error_object(error)})


class Deltas:
    """Cuts the texts of segments into deltas that, joined, are the whole text.

    The whole text has no white space around it: what a segment begins or ends with is held back until it is known to be inside.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._held = ""

    @property
    def sent(self) -> str:
        """All that was sent so far, joined: to be asked for at the end, and not with every piece."""
        return "".join(self._pieces)

    def add(self, text: str) -> None:
        """Note a piece that is sent as it is."""
        self._pieces.append(text)

    def next(self, text: str) -> str:
        """What can be sent now that `text` was recognised; "" where nothing can."""
        self._held += text if self._pieces or self._held else text.lstrip()
        ready = self._held.rstrip()
        self._held = self._held[len(ready) :]
        if ready:
            self.add(ready)
        return ready

    def rest(self, whole: str) -> str:
        """What of the whole text was not sent yet; "" where it does not go on from what was sent."""
        sent = self.sent
        return whole[len(sent) :] if whole.startswith(sent) else ""


async def frames(results: AsyncIterator[Result]) -> AsyncGenerator[bytes, None]:
    """The frames for what a transcription yields. An OpenProxyError becomes the last frame; closing it closes `results`."""
    deltas = Deltas()
    try:
        async for result in results:
            match result:
                case Segment():
                    if text := deltas.next(result.text):
                        yield delta(text)
                case Piece(text):
                    deltas.add(text)
                    yield delta(text)
                case Transcript():
                    if text := deltas.rest(result.text):
                        deltas.add(text)
                        yield delta(text)
                    yield done(replace(result, text=deltas.sent))
                    yield sse.DONE
                case Progress():
                    pass
    except OpenProxyError as error:
        yield failed(error)
    finally:
        await _close(results)


async def opened(results: AsyncIterator[Result]) -> AsyncGenerator[bytes, None]:
    """Wait for the first segment or the transcript, then give the frames.

    An error before that is raised here, so that it can be answered with its own status (section 2, step 14).
    """
    try:
        first = await anext(results)
        while isinstance(first, Progress):
            first = await anext(results)
    except BaseException:
        await _close(results)
        raise
    return frames(_after(first, results))


async def _after(first: Result, results: AsyncIterator[Result]) -> AsyncIterator[Result]:
    try:
        yield first
        async for result in results:
            yield result
    finally:
        await _close(results)


async def _close(results: AsyncIterator[Result]) -> None:
    aclose = getattr(results, "aclose", None)
    if aclose is not None:
        await aclose()
