"""Decoded frames of any sample format, rate and channel count -> mono float32 at 16 kHz, in the order they come."""

from collections.abc import Iterable, Iterator

import numpy as np
from av.audio.frame import AudioFrame
from numpy.typing import NDArray

from openproxy.audio.limits import Limits
from openproxy.audio.mixing import PIECES_PER_SECOND, Mixer
from openproxy.audio.resampling import RATE, Resampler, Samples
from openproxy.errors import AudioUnreadable

_DTYPES = {"u8": "u1", "s16": "i2", "s32": "i4", "s64": "i8", "flt": "f4", "dbl": "f8"}
"""ffmpeg's sample formats -> numpy's; a `p` at the end of the name stands for planar."""


_LOUDEST = 1e9
"""Full scale is 1. Beyond this a number is no sample, and sums of it run over."""


def resampled(frames: Iterable[AudioFrame], limits: Limits, *, pcm: bool) -> Iterator[Samples]:
    """Yield arrays (samples,) of mono float32 at 16 kHz; together they hold every sample of `frames` once.

    Counts what was decoded before any of it is converted: raises AudioTooLong as soon as rate, channels or seconds
    pass `limits`. Frames may change their format on the way. Samples that are not finite numbers are refused with
    AudioUnreadable (invalid_samples) where the file holds them as such (`pcm`); in a compressed file they come from
    damage, and are silenced.
    """
    lane: _Lane | None = None
    seconds = 0.0
    for frame in frames:
        rate, count, channels = frame.sample_rate, frame.samples, frame.layout.nb_channels
        if not count or rate <= 0 or channels <= 0:
            continue
        if lane is None or not lane.takes(rate, channels, frame.format.name):
            limits.check_format(rate, channels)
            if lane is not None:
                yield from lane.finish()
            lane = _Lane(rate, channels, frame.format.name, pcm=pcm)
        seconds += count / rate
        limits.check_seconds(seconds, complete=False)
        yield from lane.feed(frame)
    if lane is not None:
        yield from lane.finish()


class _Lane:
    """Frames of one format: joined into pieces of half a second, mixed, resampled."""

    def __init__(self, rate: int, channels: int, sample_format: str, *, pcm: bool):
        self._format = (rate, channels, sample_format)
        self._piece = max(1, rate // PIECES_PER_SECOND)
        self._pending: list[AudioFrame] = []
        self._rest: NDArray[np.generic] = np.empty((channels, 0), _dtype(sample_format))
        self._count = 0
        self._pcm = pcm
        self._mixer = Mixer(channels, rate) if channels > 1 else None
        self._resampler = Resampler(rate) if rate != RATE else None

    def takes(self, rate: int, channels: int, sample_format: str) -> bool:
        return self._format == (rate, channels, sample_format)

    def feed(self, frame: AudioFrame) -> Iterator[Samples]:
        self._pending.append(frame)
        self._count += frame.samples
        if self._count < self._piece:
            return
        joined = self._join()
        whole = self._count - self._count % self._piece
        self._rest, self._count = joined[:, whole:].copy(), self._count - whole
        for start in range(0, whole, self._piece):
            yield from self._convert(joined[:, start : start + self._piece])

    def finish(self) -> Iterator[Samples]:
        if self._count:
            yield from self._convert(self._join())
        if self._resampler is not None:
            yield from self._resampler.finish()

    def _join(self) -> NDArray[np.generic]:
        """The rest of the last time and the frames since, as they were decoded: (channels, samples)."""
        joined = np.empty((len(self._rest), self._count), self._rest.dtype)
        joined[:, : (end := self._rest.shape[1])] = self._rest
        for frame in self._pending:
            start, end = end, end + frame.samples
            if frame.format.is_planar:
                for channel, plane in enumerate(frame.planes):
                    joined[channel, start:end] = np.frombuffer(memoryview(plane), joined.dtype, frame.samples)
            else:
                packed = np.frombuffer(memoryview(frame.planes[0]), joined.dtype, frame.samples * len(joined))
                joined[:, start:end] = packed.reshape(frame.samples, len(joined)).T
        self._pending.clear()
        return joined

    def _convert(self, raw: NDArray[np.generic]) -> list[Samples]:
        piece = _scaled(raw)
        if raw.dtype.kind == "f":
            piece = self._numbers(piece)
        mono = piece[0] if self._mixer is None else self._mixer.mix(piece)
        return [mono] if self._resampler is None else self._resampler.push(mono)

    def _numbers(self, piece: Samples) -> Samples:
        if piece.max() <= _LOUDEST and piece.min() >= -_LOUDEST:
            return piece
        if self._pcm:
            raise AudioUnreadable(
                "the audio holds samples that are not finite numbers (NaN or infinity)", code="invalid_samples"
            )
        return np.where(np.abs(piece) <= _LOUDEST, piece, np.float32(0))


def _dtype(sample_format: str) -> np.dtype[np.generic]:
    return np.dtype(_DTYPES[sample_format.removesuffix("p")])


def _scaled(raw: NDArray[np.generic]) -> Samples:
    """Samples of any kind as float32, full scale at 1: whole numbers exactly divided by their full scale."""
    if raw.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return raw.astype(np.float32, copy=False)
    scaled = raw.astype(np.float32)
    if raw.dtype.kind == "u":
        scaled -= np.float32(128)
    scaled *= np.float32(2.0 ** (1 - 8 * raw.dtype.itemsize))
    return scaled
