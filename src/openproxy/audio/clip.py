"""A clip opened, measured and decoded: the three steps behind `open_audio`."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer

from openproxy.audio.containers import Source, check, open_container
from openproxy.audio.limits import Limits
from openproxy.audio.links import links
from openproxy.audio.packets import frames, measure, nothing_decoded
from openproxy.audio.resampling import RATE, Samples
from openproxy.audio.samples import resampled
from openproxy.errors import AudioUnreadable

DEFAULT_LIMITS = Limits(max_seconds=4 * 3600.0)
_SLACK = 1.0
"""Seconds that packets may hold beyond what is heard (the padding of mp3 and aac) before they alone refuse a clip."""
_PADDING = 0.25
"""Seconds of it in a whole clip."""
_MISSING = 0.02
"""Seconds that may be missing in the packets of a whole clip, by rounding."""
_ROUGH = {"vorbis": 0.1}
"""Encodings whose packets tell too little -> the part of it that may be missing."""
_NAMES = {"mov": "mp4", "matroska": "webm"}


class Audio:
    """One clip that passed its limits as far as its packets tell. Close it, or use it as a context manager."""

    duration: float | None
    """Seconds: as declared where the packets bear it out, else as measured from them; None where neither is known."""
    rate: int
    """Hz, of the file."""
    channels: int
    """Of the file."""
    container: str
    """ffmpeg's short name: wav, mp3, flac, ogg, webm (also for mkv), mp4 (also for m4a and mov), ..."""
    codec: str
    """ffmpeg's name of the decoder: pcm_s16le, mp3float, opus, ..."""
    decoded_seconds: float
    """Of the audio that `blocks` has given out so far."""

    def __init__(self, source: Source, limits: Limits, *, strict: bool):
        self._source = source
        self._limits = limits
        self._strict = strict
        self.decoded_seconds = 0.0
        limits.check_bytes(source.size)
        check(source, strict=strict)
        self._links = links(source)
        self._probe()

    def blocks(self, seconds: float = 30.0) -> Iterator[Samples]:
        """Decode from the start into mono float32 at 16 kHz: arrays (samples,), all but the last of `seconds` exactly.

        Memory does not grow with the length of the clip. One iterator at a time. Raises AudioTooLong as soon as the
        decoded samples pass a limit, AudioUnreadable where nothing is decoded (damaged_audio) or samples are not
        numbers (invalid_samples).
        """
        size = max(1, round(seconds * RATE))
        pending: list[Samples] = []
        count = 0
        self.decoded_seconds = 0.0
        for samples in self._decoded():
            pending.append(samples)
            count += len(samples)
            while count >= size:
                joined = np.concatenate(pending)
                block, rest = joined[:size], joined[size:].copy()
                pending, count = [rest], len(rest)
                yield self._given(block)
        if count:
            yield self._given(np.concatenate(pending))
        elif not self.decoded_seconds:
            raise nothing_decoded(damaged=True)

    def close(self) -> None:
        """Close the file, unless it was handed over open. May be called more than once."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _probe(self) -> None:
        """Measure what can be read; raises what is wrong with the first link where that is none of them."""
        refusals: list[AudioUnreadable] = []
        readable: list[Source] = []
        lengths: list[float | None] = []
        for link in self._links:
            try:
                container, stream = open_container(link, strict=self._strict)
                with container:
                    lengths.append(self._measured(container, stream, sum(filter(None, lengths)), first=not readable))
            except AudioUnreadable as error:
                refusals.append(error)
            else:
                readable.append(link)
        if not readable:
            raise refusals[0]
        self._links = readable
        known = [length for length in lengths if length is not None]
        self.duration = sum(known) if len(known) == len(lengths) else None

    def _measured(self, container: InputContainer, stream: AudioStream, before: float, *, first: bool) -> float | None:
        """The seconds of a link that `before` seconds precede, where known; the first link describes the clip."""
        self._limits.check_format(stream.codec_context.sample_rate, stream.codec_context.layout.nb_channels)
        limit = None if self._limits.max_seconds is None else self._limits.max_seconds + _SLACK - before
        measured = measure(container, stream, limit)
        self._limits.check_format(measured.rate, measured.channels)
        declared = _declared(container, stream)
        seconds = measured.seconds
        if seconds is not None and limit is not None and seconds > limit:
            length = seconds if measured.complete else max(seconds, declared or 0.0)
            complete = len(self._links) == 1 and (measured.complete or length > seconds)
            self._limits.check_seconds(before + length, complete=complete)
        if first:
            name = container.format.name.split(",")[0]
            self.container = _NAMES.get(name, name)
            self.codec = stream.codec_context.name
            self.rate, self.channels = measured.rate, measured.channels
        return declared if seconds is None or _agree(declared, seconds, stream.codec_context.name) else seconds

    def _decoded(self) -> Iterator[Samples]:
        yield from resampled(self._frames(), self._limits, pcm=self.codec.startswith("pcm_"))

    def _frames(self) -> Iterator[AudioFrame]:
        for link in self._links:
            container, stream = open_container(link, strict=self._strict)
            with container:
                yield from frames(container, stream)

    def _given(self, block: Samples) -> Samples:
        self.decoded_seconds += len(block) / RATE
        return block


def open_audio(
    source: str | Path | bytes | BinaryIO, limits: Limits = DEFAULT_LIMITS, *, strict_containers: bool = False
) -> Audio:
    """Open a clip from a path, bytes or a seekable binary file, and measure it without decoding it.

    `strict_containers` accepts only the wav, mp3 and flac that llama-server does (contracts/engine.md, section 6).
    Raises AudioUnreadable (empty_audio, no_audio_track, unrecognised_audio, no_samples, damaged_audio) or AudioTooLong
    (audio_too_large, audio_sample_rate, audio_channels, audio_too_long); OSError where a path cannot be opened.
    """
    opened = Source(source)
    try:
        return Audio(opened, limits, strict=strict_containers)
    except BaseException:
        opened.close()
        raise


def _declared(container: InputContainer, stream: AudioStream) -> float | None:
    """Seconds of the stream as the header has them, else of the container."""
    if stream.duration is not None and stream.time_base is not None and stream.duration > 0:
        return float(stream.duration * stream.time_base)
    if container.duration is not None and container.duration > 0:
        return container.duration / 1e6
    return None


def _agree(declared: float | None, measured: float, codec: str) -> bool:
    missing = max(_MISSING, _ROUGH.get(codec, 0) * measured)
    return declared is not None and declared - missing <= measured <= declared + _PADDING
