"""Cutting a recording into windows for a model that hears only so much at once: in pauses, and every sample exactly once."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from openproxy.audio import RATE
from openproxy.engine.chunks import quietest

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PAUSES = (1.2, 0.6)
"""Seconds of silence that are looked for before any quiet point is taken, the longest first."""
_SILENT = 1e-3
"""Mean power of a pause at most, beside that of all that it is looked for in (-30 dB)."""
_EARLIEST = 0.25
"""No window is shorter than this part of the longest, but the last."""
_LAST_SECONDS = 20.0
"""How far before the end of a window its cut is looked for."""


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
    """The middle of a long pause in `samples` (samples,) between `first` and `last`, else of the quietest 0.3 s there."""
    level = _power(samples[first:last])
    for seconds in _PAUSES:
        width = round(seconds * RATE)
        if width > last - first:
            continue
        at = quietest(samples, first, last, seconds)
        if _power(samples[at - width // 2 : at + width // 2]) <= level * _SILENT:
            return at
    return quietest(samples, first, last)


def _power(samples: "NDArray[np.float32]") -> float:
    return float(np.mean(np.square(samples, dtype=np.float64)))
