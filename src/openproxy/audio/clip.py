"""A clip opened, measured and decoded: the three steps behind `open_audio`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer

from openproxy.audio.containers import check, open_container
from openproxy.audio.limits import Limits
from openproxy.audio.links import links
from openproxy.audio.packets import Measured, frames, measure, nothing_decoded
from openproxy.audio.resampling import RATE, Samples
from openproxy.audio.samples import resampled
from openproxy.audio.source import Source
from openproxy.audio.tags import untagged
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
_SHORT = 1.0
"""Seconds below which what an edit list leaves of a recording is compared with all of it."""
_NAMES = {"mov": "mp4", "matroska": "webm"}


@dataclass(frozen=True, slots=True)
class _Link:
    """A part of the clip that is decoded by itself, and what was measured of it."""

    source: Source
    edits: bool
    """Whether its edit list is followed."""
    container: str
    codec: str
    declared: float | None
    measured: Measured


class _NothingLeft(Exception):
    """Following the edit list of a recording, nothing can be decoded."""


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
        self._links = self._probe(links(source if strict else untagged(source)))

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

    def _probe(self, sources: list[Source]) -> list[_Link]:
        """Measure what can be read; raises what is wrong with the first link where that is none of them."""
        refusals: list[AudioUnreadable] = []
        found: list[_Link] = []
        lengths: list[float | None] = []
        for source in sources:
            before = sum(filter(None, lengths))
            limit = None if self._limits.max_seconds is None else self._limits.max_seconds + _SLACK - before
            try:
                link = self._measured(source, limit)
            except AudioUnreadable as error:
                refusals.append(error)
                continue
            self._check_length(link, limit, before, alone=len(sources) == 1)
            found.append(link)
            lengths.append(_length(link))
        if not found:
            raise refusals[0]
        self.container, self.codec = _NAMES.get(found[0].container, found[0].container), found[0].codec
        self.rate, self.channels = found[0].measured.rate, found[0].measured.channels
        known = [length for length in lengths if length is not None]
        self.duration = sum(known) if len(known) == len(lengths) else None
        return found

    def _measured(self, source: Source, limit: float | None) -> _Link:
        """A link with its edit list, if it has one, as players have it; without it where hardly anything were left, or
        where its times cannot be true.
        """
        try:
            link = self._look(source, limit, edits=True)
        except _NothingLeft:
            return self._look(source, limit, edits=False)
        measured = link.measured
        if link.container != "mov" or (measured.timed and (measured.seconds or 0) >= _SHORT):
            return link
        whole = self._look(source, limit, edits=False)
        if not (measured.timed and whole.measured.timed):
            return whole
        return whole if (whole.measured.seconds or 0) > 2 * (measured.seconds or 0) + _PADDING else link

    def _look(self, source: Source, limit: float | None, *, edits: bool) -> _Link:
        container, stream = open_container(source, strict=self._strict, edits=edits)
        with container:
            self._limits.check_format(stream.codec_context.sample_rate, stream.codec_context.layout.nb_channels)
            name = container.format.name.split(",")[0]
            try:
                measured = measure(container, stream, limit, edits=edits)
            except AudioUnreadable as error:
                if edits and name == "mov":
                    raise _NothingLeft from error
                raise
            self._limits.check_format(measured.rate, measured.channels)
            declared = _declared(container, stream)
            return _Link(source, edits, name, stream.codec_context.name, declared, measured)

    def _check_length(self, link: _Link, limit: float | None, before: float, *, alone: bool) -> None:
        """Refuse what is too long by its packets; `before` are the seconds of the links before it."""
        measured = link.measured
        seconds = measured.seconds
        if seconds is not None and limit is not None and seconds > limit:
            length = seconds if measured.complete else max(seconds, link.declared or 0.0)
            complete = alone and (measured.complete or length > seconds)
            self._limits.check_seconds(before + length, complete=complete)

    def _decoded(self) -> Iterator[Samples]:
        yield from resampled(self._frames(), self._limits, pcm=self.codec.startswith("pcm_"))

    def _frames(self) -> Iterator[AudioFrame]:
        for link in self._links:
            container, stream = open_container(link.source, strict=self._strict, edits=link.edits)
            with container:
                yield from frames(container, stream, edits=link.edits)

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


def _length(link: _Link) -> float | None:
    """Seconds of a link, where its packets tell."""
    seconds = link.measured.seconds
    return link.declared if seconds is not None and _agree(link.declared, seconds, link.codec) else seconds


def _agree(declared: float | None, measured: float, codec: str) -> bool:
    missing = max(_MISSING, _ROUGH.get(codec, 0) * measured)
    return declared is not None and declared - missing <= measured <= declared + _PADDING
