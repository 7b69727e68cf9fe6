"""Reading the packets of an audio stream past damage: to decode them, or only to add up how long they are."""

from collections.abc import Iterator
from dataclasses import dataclass

from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.packet import Packet

from openproxy.audio.containers import BAD_INPUT
from openproxy.errors import AudioUnreadable

_FAILURES = 64
"""Reads in a row that may fail before the rest of a file is given up."""
_MEASURED_PACKETS = 4_000_000
"""Packets after which measuring is given up: beyond any clip of hours, within seconds of work."""
_BEYOND = 100_000
"""Packets that are read beyond the limit, a fraction of a second's work, to tell how long the clip really is."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the packets of a stream tell."""

    rate: int
    """Hz, of the first decoded frame, which may differ from the header."""
    channels: int
    seconds: float | None
    """Of all packets; None where packets carry no duration."""
    complete: bool
    """False where reading stopped before the end."""


def frames(container: InputContainer, stream: AudioStream) -> Iterator[AudioFrame]:
    """Decode every packet that can be decoded; the others are left out."""
    for packet in packets(container, stream):
        try:
            decoded = stream.codec_context.decode(packet)
        except BAD_INPUT:
            continue
        yield from decoded
    try:
        yield from stream.codec_context.decode(None)
    except BAD_INPUT:
        return


def packets(container: InputContainer, stream: AudioStream) -> "Iterator[Packet[AudioStream]]":
    """Read on behind what cannot be read, until the end of the file or too many failures in a row."""
    failures = 0
    while failures < _FAILURES:
        try:
            for packet in container.demux(stream):
                if packet.size:
                    failures = 0
                    yield packet
        except BAD_INPUT:
            failures += 1
        else:
            return


def measure(container: InputContainer, stream: AudioStream, limit: float | None) -> Measured:
    """Add up the lengths of the packets without decoding more than the first frame; stop well beyond `limit` seconds.

    Raises AudioUnreadable where not one frame can be decoded (no_samples, damaged_audio).
    """
    time_base = float(stream.time_base or 0)
    most = None if limit is None or not time_base else limit / time_base
    first: AudioFrame | None = None
    damaged = complete = False
    ticks = count = beyond = 0
    for packet in packets(container, stream):
        if first is None:
            try:
                first = next((frame for frame in stream.codec_context.decode(packet) if frame.samples), None)
            except BAD_INPUT:
                damaged = True
        ticks += max(0, packet.duration or 0)
        count += 1
        beyond += most is not None and ticks > most
        if count >= _MEASURED_PACKETS or (beyond > _BEYOND and first is not None):
            break
    else:
        complete = True
    if first is None:
        first = _last_frame(stream)
    if first is None:
        raise nothing_decoded(damaged=damaged or count > 0)
    seconds = ticks * time_base if ticks and time_base and (complete or count < _MEASURED_PACKETS) else None
    return Measured(first.sample_rate, first.layout.nb_channels, seconds, complete)


def nothing_decoded(*, damaged: bool) -> AudioUnreadable:
    """The error of a recognised file that gives no sample."""
    if damaged:
        return AudioUnreadable("the audio is damaged: nothing in the file can be decoded", code="damaged_audio")
    return AudioUnreadable("the file holds no audio samples: there is a header and nothing after it", code="no_samples")


def _last_frame(stream: AudioStream) -> AudioFrame | None:
    """What a decoder that runs behind gives out at the end."""
    try:
        return next((frame for frame in stream.codec_context.decode(None) if frame.samples), None)
    except BAD_INPUT:
        return None
