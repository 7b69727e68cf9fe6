"""Cutting long audio into stretches at quiet points, and finding the way back from joined speech to the recording."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from openproxy.audio import RATE

if TYPE_CHECKING:
    from numpy.typing import NDArray

Span = tuple[int, int]
"""First sample and the one after the last."""

PADDING = 0.4
"""Seconds of silence that voice activity detection leaves on each side of speech (faster-whisper, `speech_pad_ms`)."""
_LAST_SECONDS = 30.0
"""How far before the end of a stretch its cut is looked for."""
_PAUSE_SECONDS = 0.3
"""Length of the pause that the quietest point is the middle of."""
_HOP_SECONDS = 0.01
_CARRIED_SILENCE_SECONDS = 1.0
"""What is carried over of the silence at the end of a stretch, for the speech that may begin right after it."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of a recording that is worked on at once."""

    offset: int
    """Its first sample in the recording."""
    samples: "NDArray[np.float32]"
    """(samples,) mono, 16 kHz."""
    spans: tuple[Span, ...]
    """Where speech is in it."""

    @property
    def speech(self) -> "NDArray[np.float32]":
        """Its speech, joined: (samples,)."""
        if self.spans == ((0, len(self.samples)),):
            return self.samples
        return np.concatenate([self.samples[:0], *(self.samples[start:end] for start, end in self.spans)])


def stretches(
    blocks: Iterable["NDArray[np.float32]"],
    find_speech: Callable[["NDArray[np.float32]"], list[Span]],
    *,
    longest: float,
) -> Iterator[Stretch]:
    """Cut a recording, given in blocks of (samples,), into stretches of at most `longest` seconds that join without a gap.

    `find_speech` is called once for each stretch, and again for what a cut carries over. Where a pause is near the
    end of a stretch the cut lies in it, else at the quietest point there. No samples give no stretch.
    """
    limit = round(longest * RATE)
    pending = np.empty(0, np.float32)
    offset = 0
    for block in blocks:
        pending = np.concatenate([pending, block])
        while len(pending) > limit:
            head = pending[:limit]
            spans = find_speech(head)
            cut = cut_point(head, spans)
            kept = tuple((start, min(end, cut)) for start, end in spans if start < cut)
            yield Stretch(offset, head[:cut], kept)
            offset += cut
            pending = pending[cut:].copy()
    if len(pending):
        yield Stretch(offset, pending, tuple(find_speech(pending)))


def cut_point(samples: "NDArray[np.float32]", spans: list[Span]) -> int:
    """Where to cut `samples` (samples,), after which the recording goes on: never at its very end, never at 0.

    `spans` say where speech is. In order of preference: the silence at the end, the last pause of the last 30 s,
    the quietest point of the last 30 s.
    """
    end = len(samples)
    carried = round(_CARRIED_SILENCE_SECONDS * RATE)
    earliest = max(end - round(_LAST_SECONDS * RATE), end // 2)
    spoken = spans[-1][1] if spans else 0
    if spoken < end:
        return max(spoken, end - carried, 1)
    start = spans[-1][0]
    before = spans[-2][1] if len(spans) > 1 else 0
    if start > before and (start + before) // 2 >= earliest:
        return (start + before) // 2
    return quietest(samples, earliest, end)


def quietest(samples: "NDArray[np.float32]", first: int, last: int) -> int:
    """The middle of the quietest 0.3 s of `samples` (samples,) between `first` and `last`; of several, the latest.

    The middle of the range where that is shorter than 0.3 s.
    """
    hop, width = round(_HOP_SECONDS * RATE), round(_PAUSE_SECONDS * RATE)
    hops = (last - first) // hop
    if hops * hop < width:
        return (first + last) // 2
    part = samples[first : first + hops * hop].reshape(hops, hop)
    energy = np.einsum("ij,ij->i", part, part, dtype=np.float64)
    sums = np.convolve(energy, np.ones(width // hop), mode="valid")
    at = len(sums) - 1 - int(np.argmin(sums[::-1]))
    return first + at * hop + width // 2


class SpeechMap:
    """From times within the joined speech of a stretch to times within the stretch, in seconds."""

    def __init__(self, spans: Iterable[Span]):
        self._spans = [(start / RATE, end / RATE) for start, end in spans]
        self._joined = [0.0, *accumulate(end - start for start, end in self._spans)]

    def moment(self, time: float) -> float:
        """One point in time; at a joint, the beginning of what follows."""
        return self._restore(time, self._span(time))

    def segment(self, start: float, end: float) -> tuple[float, float]:
        """Where a segment begins and ends. One that reaches into the padding beyond a joint only stays on its side."""
        first = self._span(start)
        last = max(first, bisect_left(self._joined, end, 1, len(self._joined) - 1) - 1)
        if first < last and end - self._joined[last] <= PADDING:
            last -= 1
        if first < last and self._joined[first + 1] - start <= PADDING:
            first += 1
        return self._restore(start, first), self._restore(end, last)

    def word(self, start: float, end: float) -> tuple[float, float]:
        """Where a word begins and ends: both where its middle is, for a word does not last through a silence."""
        span = self._span((start + end) / 2)
        return self._restore(start, span), self._restore(end, span)

    def _span(self, time: float) -> int:
        return min(max(bisect_right(self._joined, time) - 1, 0), len(self._spans) - 1)

    def _restore(self, time: float, span: int) -> float:
        start, end = self._spans[span]
        return min(max(start + time - self._joined[span], start), end)
