"""Mixing channels into one without losing a voice that is on one channel only, or in opposite phase on two.

A plain average has two faults: channels of opposite phase cancel each other, and a voice on one of eight channels is
divided by eight. So, for each piece of half a second:

* The sign of every channel is aligned with the loudest one: where the two correlate negatively the channel is turned
  over. Channels that hardly correlate keep the sign they had, so that the sum never turns over by chance.
* The sum is divided by the number of channels that carry sound (the sum of the levels over the highest level), not by
  the number of channels: equal channels are averaged, silent ones count for nothing. A level rises at once and falls
  slowly, so that the loudness does not pump between words.

Weights that change from one piece to the next are faded over 10 ms.
"""

import numpy as np
from numpy.typing import NDArray

PIECES_PER_SECOND = 2
_CORRELATED = 0.2
"""Correlation below which two channels say nothing about each other's sign."""
_RELEASE = 0.94
"""What remains of a channel's level a piece later: half of it after some five seconds."""
_FADES_PER_SECOND = 100


class Mixer:
    """Mixes the pieces of one recording in order."""

    def __init__(self, channels: int, rate: int):
        self._signs = np.ones(channels)
        self._levels = np.zeros(channels)
        self._weights: NDArray[np.float32] | None = None
        self._fade_in = np.linspace(0, 1, max(1, rate // _FADES_PER_SECOND), endpoint=False, dtype=np.float32)

    def mix(self, piece: NDArray[np.float32]) -> NDArray[np.float32]:
        """Mix a piece (channels, samples) of finite numbers into (samples,)."""
        before, weights = self._weights, self._weigh(piece)
        mono: NDArray[np.float32] = np.einsum("c,ct->t", weights, piece)
        if before is not None and not np.array_equal(before, weights):
            fade_in = self._fade_in[: piece.shape[1]]
            head = slice(len(fade_in))
            mono[head] *= fade_in
            mono[head] += np.einsum("c,ct->t", before, piece[:, head]) * (1 - fade_in)
        self._weights = weights
        return mono

    def _weigh(self, piece: NDArray[np.float32]) -> NDArray[np.float32]:
        samples = piece.shape[1]
        level = np.sqrt(np.einsum("ct,ct->c", piece, piece) / samples, dtype=np.float64)
        loudest = int(np.argmax(level))
        if level[loudest] > 0:
            product = np.einsum("ct,t->c", piece, piece[loudest]) / samples
            scale = level * level[loudest]
            correlation = np.divide(product, scale, out=np.zeros_like(scale), where=scale > 0)
            aligned = self._signs[loudest] * np.sign(correlation)
            self._signs = np.where(np.abs(correlation) >= _CORRELATED, aligned, self._signs)
        self._levels = np.maximum(level, self._levels * _RELEASE)
        total = self._levels.sum()
        gain = self._levels.max() / total if total > 0 else 1 / len(self._levels)
        weights: NDArray[np.float32] = (self._signs * gain).astype(np.float32)
        return weights
