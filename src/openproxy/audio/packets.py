"""Reading the packets of an audio stream past damage: to decode them, or only to add up how long they are."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.packet import Packet

from openproxy.audio.containers import BAD_INPUT
from openproxy.errors import AudioUnreadable

_FAILURES = 64
"""Reads in a row that may fail before the rest of a file is given up."""
_SILENT_PACKETS = 20_000
"""Packets in a row that may give nothing before the rest is given up: minutes of audio."""
_MEASURED_PACKETS = 4_000_000
"""Packets after which measuring is given up: beyond any clip of hours, within seconds of work."""
_COMPARED = 16
"""Packets that are decoded to see whether they last as long as they say, if they say so."""
_TIMES = 1.5
"""How many times as long or short they may be: the first ones hold what the encoder put before the audio."""
_FEW_SECONDS = 0.25
"""Of fewer packets than are to be compared, how much longer or shorter they may be in any case."""
_BEYOND = 100_000
"""Packets that are read beyond the limit, a fraction of a second's work, to tell how long the clip really is."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the packets of a stream tell."""

    rate: int
    """Hz, of the first decoded frame, which may differ from the header."""
    channels: int
    seconds: float | None
    """Of all packets that are to be heard; None where they carry no durations, or false ones."""
    complete: bool
    """False where reading stopped before the end."""
    timed: bool
    """False where the durations of packets cannot be true: what they hold lasts much longer or shorter."""


def frames(container: InputContainer, stream: AudioStream, *, edits: bool = True) -> Iterator[AudioFrame]:
    """Decode every packet that can be decoded; the others are left out. `edits` as in `packets`."""
    silent = 0
    for packet in packets(container, stream, edits=edits):
        silent += not packet.is_discard
        try:
            decoded = stream.codec_context.decode(packet)
        except BAD_INPUT:
            decoded = []
        if decoded:
            silent = 0
            yield from decoded
        elif silent >= _SILENT_PACKETS:
            break
    try:
        yield from stream.codec_context.decode(None)
    except BAD_INPUT:
        return


def packets(container: InputContainer, stream: AudioStream, *, edits: bool = True) -> "Iterator[Packet[AudioStream]]":
    """Read on behind what cannot be read, until the end of the file or too many failures in a row.

    Without `edits` no packet is marked as one to leave out.
    """
    failures = 0
    while failures < _FAILURES:
        try:
            for packet in container.demux(stream):
                if packet.size:
                    failures = 0
                    yield packet if edits or not packet.is_discard else _unmarked(packet)
        except BAD_INPUT:
            failures += 1
        else:
            return


def measure(container: InputContainer, stream: AudioStream, limit: float | None, *, edits: bool = True) -> Measured:
    """Add up the lengths of the packets, decoding no more than the first ones; stop well beyond `limit` seconds.

    `edits` as in `packets`. Raises AudioUnreadable where not one frame can be decoded (no_samples, damaged_audio).
    """
    time_base = float(stream.time_base or 0)
    most = None if limit is None or not time_base else limit / time_base
    compared = _Compared()
    damaged = complete = False
    ticks = count = beyond = 0
    for packet in packets(container, stream, edits=edits):
        length = 0 if packet.is_discard else max(0, packet.duration or 0)
        if compared.wanted:
            try:
                compared.add(stream.codec_context.decode(packet), length * time_base)
            except BAD_INPUT:
                damaged = True
        ticks += length
        count += 1
        beyond += most is not None and ticks > most
        if count >= (_SILENT_PACKETS if compared.first is None else _MEASURED_PACKETS):
            break
        if beyond > _BEYOND and not compared.wanted:
            break
    else:
        complete = True
        if compared.first is None:
            compared.add(_last_frames(stream), 0)
    first = compared.first
    if first is None:
        raise nothing_decoded(damaged=damaged or count > 0)
    known = compared.true and ticks and time_base and (complete or count < _MEASURED_PACKETS)
    seconds = ticks * time_base if known else None
    return Measured(first.sample_rate, first.layout.nb_channels, seconds, complete, compared.true)


class _Compared:
    """The first packets: what they say of their length, and how long is what was decoded of them."""

    def __init__(self) -> None:
        self.first: AudioFrame | None = None
        """The first frame that holds samples."""
        self._packets = self._decoded_packets = 0
        self._declared = self._decoded = 0.0

    @property
    def wanted(self) -> bool:
        """Whether more packets are to be decoded."""
        return self.first is None or (self._packets < _COMPARED and self._decoded_packets < 4 * _COMPARED)

    def add(self, decoded: list[AudioFrame], declared: float) -> None:
        """Count the frames of a packet that lasts so many seconds by its own account."""
        sounding = [frame for frame in decoded if frame.samples and frame.sample_rate]
        if self.first is None and sounding:
            self.first = sounding[0]
        self._packets += declared > 0
        self._decoded_packets += 1
        self._declared += declared
        self._decoded += sum(frame.samples / frame.sample_rate for frame in sounding)

    @property
    def true(self) -> bool:
        """Whether the one bears out the other, as far as anything was declared."""
        less, more = sorted((self._declared, self._decoded))
        if not self._declared or more <= _TIMES * less:
            return True
        return self._packets < _COMPARED and more - less <= _FEW_SECONDS


def nothing_decoded(*, damaged: bool) -> AudioUnreadable:
    """The error of a recognised file that gives no sample."""
    if damaged:
        return AudioUnreadable("the audio is damaged: nothing in the file can be decoded", code="damaged_audio")
    return AudioUnreadable("the file holds no audio samples: there is a header and nothing after it", code="no_samples")


def _unmarked(packet: "Packet[AudioStream]") -> "Packet[AudioStream]":
    """The same packet to be heard."""
    unmarked = Packet(bytes(packet))
    unmarked.stream, unmarked.time_base, unmarked.duration = packet.stream, packet.time_base, packet.duration or 0
    return cast("Packet[AudioStream]", unmarked)


def _last_frames(stream: AudioStream) -> list[AudioFrame]:
    """What a decoder that runs behind gives out at the end."""
    try:
        return list(stream.codec_context.decode(None))
    except BAD_INPUT:
        return []
