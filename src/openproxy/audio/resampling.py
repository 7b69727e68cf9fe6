"""Mono float32 of any rate -> 16 kHz, in pieces: together they hold the whole recording, to its last sample."""

from collections.abc import Iterable

import av
import numpy as np
from av.audio.frame import AudioFrame
from numpy.typing import NDArray

RATE = 16_000
"""Hz: the rate of everything that leaves this package."""

_FILTER_SAMPLES = 64
"""Samples, times the factor of reduction, by which ffmpeg's filter is surely filled."""

Samples = NDArray[np.float32]


class Resampler:
    """Resamples one recording of `rate` Hz, piece after piece."""

    def __init__(self, rate: int):
        self._rate = rate
        self._resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
        self._taken = 0
        self._given = 0

    def push(self, piece: Samples) -> list[Samples]:
        """Take a piece (samples,), give what is ready (samples,): often less, as the filter looks ahead."""
        frame = AudioFrame.from_ndarray(np.ascontiguousarray(piece)[np.newaxis], format="flt", layout="mono")
        frame.sample_rate = self._rate
        self._taken += len(piece)
        ready = _arrays(self._resampler.resample(frame))
        self._given += sum(map(len, ready))
        return ready

    def finish(self) -> list[Samples]:
        """Give the rest."""
        silence = _FILTER_SAMPLES * max(1, -(-self._rate // RATE))
        if self._taken >= silence:
            return _arrays(self._resampler.resample(None))
        # Less than the filter is long: ffmpeg would keep it all. Silence is sent after it and cut off again.
        missing = -(-self._taken * RATE // self._rate) - self._given
        padded = [*self.push(np.zeros(silence, np.float32)), *_arrays(self._resampler.resample(None))]
        return [np.concatenate(padded)[:missing]]


def _arrays(frames: Iterable[AudioFrame]) -> list[Samples]:
    return [frame.to_ndarray()[0] for frame in frames]
