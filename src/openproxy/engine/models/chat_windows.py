"""Cutting a recording into windows for a model that hears only so much at once: in pauses, and every sample exactly once."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from openproxy.audio import RATE
from openproxy.engine.chunks import quietest

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHORTEST_SECONDS = 0.1
"""Shorter clips are lengthened: some encoders make nothing of less, some fail."""
_EARLIEST = 0.25
"""No window but the last is shorter than this part of the longest."""
_LAST_SECONDS = 15.0
"""How far before the end of a window its cut is looked for."""
_PAUSE_SECONDS = 0.3
"""Silence from this length on is a pause."""
_LEAD_SECONDS = 0.3
"""Silence that is left before the speech that follows a long pause: models hear late speech worse."""
_SILENT = 3e-3
"""Power of silence at most, beside the mean of all that it is looked for in (-25 dB)."""
_HOP = RATE // 100


def windows(blocks: Iterable["NDArray[np.float32]"], longest: float) -> Iterator["NDArray[np.float32]"]:
    """Cut a recording, given in blocks of (samples,), into arrays of at most `longest` seconds; joined, they are the recording.

    A recording that is not longer stays whole.
    """
    limit = round(longest * RATE)
    pending = np.empty(0, np.float32)
    for block in blocks:
        pending = np.concatenate([pending, block])
        while len(pending) > limit:
            earliest = max(round(limit * _EARLIEST), limit - round(_LAST_SECONDS * RATE))
            cut = pause(pending, earliest, limit)
            yield pending[:cut]
            pending = pending[cut:].copy()
    if len(pending):
        yield pending


def pause(samples: "NDArray[np.float32]", first: int, last: int) -> int:
    """Where to cut `samples` (samples,) between `first` and `last`: in the first pause there, else at the quietest point.

    A pause is cut in its middle, a long one shortly before its end.
    """
    hops = (last - first) // _HOP
    power = np.mean(np.square(samples[first : first + hops * _HOP].reshape(hops, _HOP), dtype=np.float64), axis=1)
    silent = np.concatenate([[False], power <= power.mean() * _SILENT, [False]]) if hops else np.zeros(2, bool)
    edges = np.flatnonzero(np.diff(silent)).reshape(-1, 2)
    for start, end in edges * _HOP + first:
        if end - start >= round(_PAUSE_SECONDS * RATE):
            return int(max((start + end) // 2, end - round(_LEAD_SECONDS * RATE)))
    return quietest(samples, first, last)


def lengthened(samples: "NDArray[np.float32]") -> "NDArray[np.float32]":
    """(samples,) with silence behind them up to SHORTEST_SECONDS."""
    missing = round(SHORTEST_SECONDS * RATE) - len(samples)
    return np.pad(samples, (0, missing)) if missing > 0 else samples
