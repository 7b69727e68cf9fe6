"""Recordings made in a test, as the audio that a Transcriber is given."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

RATE = 16_000


class Recording:
    """Samples with the part of `openproxy.audio.Audio` that a model reads."""

    def __init__(self, samples: NDArray[np.float32]):
        self.samples = samples
        self.duration = len(samples) / RATE

    def blocks(self, seconds: float = 30.0) -> Iterator[NDArray[np.float32]]:
        size = round(seconds * RATE)
        for start in range(0, len(self.samples), size):
            yield self.samples[start : start + size]


def recording(samples: NDArray[np.float32]) -> Any:
    return Recording(samples)
