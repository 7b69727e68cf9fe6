"""Recordings whose headers lie about time: whole clips in which one number was exchanged."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from support.clips import encode, int16, speechlike, wav

SECONDS = 3.0
RATE = 16_000


@dataclass(frozen=True)
class Forged:
    """One clip: `name` says what is wrong with it."""

    name: str
    data: bytes


@cache
def whole(container: str, codec: str, rate: int = RATE, **options: str) -> bytes:
    """The clip before it is forged."""
    return encode(container, codec, speechlike(SECONDS, rate), rate, options=options)


def patched(data: bytes, at: int, form: str, *values: int) -> bytes:
    """`values` in the place of what stands at `at`."""
    return data[:at] + struct.pack(form, *values) + data[at + struct.calcsize(form) :]


def box(data: bytes, *path: str) -> int:
    """Where the content of an mp4 box begins."""
    start, end = 0, len(data)
    for name in path:
        at = start
        while data[at + 4 : at + 8] != name.encode():
            at += struct.unpack_from(">I", data, at)[0]
            assert at < end, f"no box {name}"
        start, end = at + 8, at + struct.unpack_from(">I", data, at)[0]
    return start


def with_box(data: bytes, name: str, body: bytes, *path: str) -> bytes:
    """With one more box in the one at `path`; the index is behind the samples, which do not move."""
    at = box(data, *path)
    data = data[:at] + struct.pack(">I4s", 8 + len(body), name.encode()) + body + data[at:]
    for depth in range(1, len(path) + 1):
        size = box(data, *path[:depth]) - 8
        data = patched(data, size, ">I", struct.unpack_from(">I", data, size)[0] + 8 + len(body))
    return data


TRACK = ("moov", "trak")
MEDIA = (*TRACK, "mdia")
TABLE = (*MEDIA, "minf", "stbl")
EDITS = (*TRACK, "edts", "elst")
HUGE = 0x7FFFFFFF
ALL = 0xFFFFFFFF


def mp4(container: str = "ipod", codec: str = "aac", rate: int = RATE) -> Iterator[Forged]:
    """Time scales, edit lists and tables of mp4."""
    data = whole(container, codec, rate)
    label = f"{container} {codec}"
    scale = box(data, *MEDIA, "mdhd") + 12
    for value in (0, 1, rate // 1000, rate // 100, rate // 10, rate // 2, rate * 2, rate * 10, rate * 1000, HUGE, ALL):
        yield Forged(f"{label} mdhd timescale {value}", patched(data, scale, ">I", value))
    for value in (0, 1, HUGE, ALL):
        yield Forged(f"{label} mdhd duration {value}", patched(data, scale + 4, ">I", value))
    movie = box(data, "moov", "mvhd") + 12
    for value in (0, 1, 10, 100_000, HUGE, ALL):
        yield Forged(f"{label} mvhd timescale {value}", patched(data, movie, ">I", value))
    for value in (0, 1, ALL):
        yield Forged(f"{label} mvhd duration {value}", patched(data, movie + 4, ">I", value))
        yield Forged(f"{label} tkhd duration {value}", patched(data, box(data, *TRACK, "tkhd") + 20, ">I", value))
    edits = box(data, *EDITS) + 4
    duration, start = struct.unpack_from(">II", data, edits + 4)
    for name, length, at in (
        ("of no length", 0, start),
        ("of one tick", 1, start),
        ("without end", ALL, start),
        ("that is empty", duration, ALL),
        ("before the beginning", duration, 0xFFFFFFF0),
        ("far before the beginning", duration, 0x80000000),
        ("behind the end", duration, 10**6),
        ("far behind the end", duration, HUGE),
        ("at the last sample", duration, round(SECONDS * rate) - 1),
    ):
        yield Forged(f"{label} edit {name}", patched(data, edits + 4, ">II", length, at))
    for value in (0, 2, ALL):
        yield Forged(f"{label} {value} edits", patched(data, edits, ">I", value))
    for value in (0, 0x8000, 0xFFFF, 100):
        yield Forged(f"{label} edit at speed {value}", patched(data, edits + 12, ">H", value))
    times = box(data, *TABLE, "stts") + 4
    for value in (0, 2, ALL):
        yield Forged(f"{label} {value} stts entries", patched(data, times, ">I", value))
    for value in (0, 1, ALL):
        yield Forged(f"{label} stts count {value}", patched(data, times + 4, ">I", value))
    for value in (0, 1, 10, 10**6, HUGE, 0x80000000, ALL):
        yield Forged(f"{label} stts delta {value}", patched(data, times + 8, ">I", value))
    count = struct.unpack_from(">I", data, box(data, *TABLE, "stsz") + 8)[0]
    for version, offset in ((0, 10**6), (0, ALL), (0, HUGE), (1, -(10**6) & ALL), (1, 0x80000000)):
        body = struct.pack(">IIII", version << 24, 1, count, offset)
        yield Forged(f"{label} ctts version {version} offset {offset}", with_box(data, "ctts", body, *TABLE))


def fragmented() -> Iterator[Forged]:
    """Times of fragmented mp4."""
    data = encode(
        "mp4", "aac", speechlike(SECONDS), options={"movflags": "frag_keyframe+empty_moov", "frag_size": "4096"}
    )
    for name, of_box, offset, values in (
        ("time scale", b"mdhd", 16, (0, 1, 160, RATE * 10, ALL)),
        ("movie time scale", b"mvhd", 16, (0, 1, 10**6, ALL)),
        ("default duration", b"trex", 16, (0, 1, 10**6, HUGE)),
        ("header duration", b"tfhd", 20, (0, 1, 10**6, HUGE)),
        ("base time", b"tfdt", 8, (0, 10**6, ALL)),
    ):
        for value in values:
            forged, at = data, 0
            while (at := data.find(of_box, at + 1)) > 0:
                forged = patched(forged, at + offset, ">I", value)
            yield Forged(f"fragmented mp4 {name} {value}", forged)


def mkv(container: str = "matroska", codec: str = "libopus", rate: int = 48_000) -> Iterator[Forged]:
    """Time stamps and scales of Matroska."""
    data = whole(container, codec, rate)
    label = f"{container} {codec}"
    scale = data.index(b"\x2a\xd7\xb1\x83") + 4
    for value in (0, 1, 1000, 100_000_00, 0xFFFFFF):
        yield Forged(f"{label} scale {value}", patched(data, scale, ">BH", value >> 16, value & 0xFFFF))
    duration = data.index(b"\x44\x89\x88") + 3
    for bits in (0, 0x3FF0000000000000, 0x7FF0000000000000, 0x7FF8000000000000, 0xC0F0000000000000):
        yield Forged(f"{label} duration {bits:x}", patched(data, duration, ">Q", bits))
    for name, number in (("delay", b"\x56\xaa"), ("roll", b"\x56\xbb")):
        at = data.find(number)
        if at > 0:
            size = data[at + 2] & 0x7F
            for value in (0, 0x7F, 0xFF):
                body = bytes([value]) * size
                yield Forged(f"{label} {name} {body.hex()}", data[: at + 3] + body + data[at + 3 + size :])
    yield Forged(f"{label} all blocks at 0", _blocks(data, lambda _: 0))
    yield Forged(f"{label} blocks backwards", _blocks(data, lambda time: -time))
    yield Forged(f"{label} blocks at random", _blocks(data, lambda time: (time * 7919) % 30_000 - 15_000))
    yield Forged(f"{label} blocks far apart", _blocks(data, lambda time: min(32_767, time * 10)))
    for value in (0, 0xFFFF):
        yield Forged(f"{label} clusters at {value}", _clusters(data, value))


def _blocks(data: bytes, time: Callable[[int], int]) -> bytes:
    at = data.index(b"\x1f\x43\xb6\x75")
    out = bytearray(data)
    while (at := data.find(b"\xa3", at + 1)) > 0:
        width = 9 - data[at + 1].bit_length() if data[at + 1] else 9
        if width < 3 and data[at + 1 + width] == 0x81 and data[at + 4 + width] & 0x7F == 0:
            was = struct.unpack_from(">h", data, at + 2 + width)[0]
            struct.pack_into(">h", out, at + 2 + width, time(was))
    return bytes(out)


def _clusters(data: bytes, time: int) -> bytes:
    out = bytearray(data)
    at = 0
    while (at := data.find(b"\x1f\x43\xb6\x75", at + 1)) > 0:
        stamp = data.index(b"\xe7", at)
        size = data[stamp + 1] & 0x7F
        out[stamp + 2 : stamp + 2 + size] = time.to_bytes(8, "big")[-size:]
    return bytes(out)


def ogg(data: bytes, label: str) -> Iterator[Forged]:
    """Granule positions of Ogg, in pages that are otherwise sound."""
    for name, position in (
        ("all 0", lambda _number, _was, _last: 0),
        ("all -1", lambda _number, _was, _last: -1),
        ("all huge", lambda _number, _was, _last: 1 << 62),
        ("all negative", lambda _number, was, _last: -was - 1),
        ("backwards", lambda number, was, _last: 10**7 - was if number > 1 else was),
        ("a hundredth", lambda number, was, _last: was // 100),
        ("a hundredfold", lambda number, was, _last: was * 100),
        ("last 0", lambda _number, was, last: 0 if last else was),
        ("last 1", lambda _number, was, last: 1 if last else was),
        ("last half", lambda _number, was, last: was // 2 if last else was),
        ("last -1", lambda _number, was, last: -1 if last else was),
        ("last huge", lambda _number, was, last: 1 << 62 if last else was),
        ("first huge", lambda number, was, _last: 1 << 62 if number == 2 else was),
        ("first far", lambda number, was, _last: 10**9 + was if number > 1 else was),
    ):
        yield Forged(f"{label} positions {name}", _pages(data, position))


def pre_skip() -> Iterator[Forged]:
    """What Opus is told to leave out at its beginning."""
    data = whole("ogg", "libopus", 48_000)
    for value in (0, 1, 10_000, 0xFFFF):
        skipping = patched(data, data.index(b"OpusHead") + 10, "<H", value)
        yield Forged(f"opus pre-skip {value}", _pages(skipping, lambda _number, was, _last: was))


@cache
def _table() -> tuple[int, ...]:
    """Of the checksum of a page (RFC 3533, section 6)."""
    values = []
    for value in range(0, 256 << 24, 1 << 24):
        for _ in range(8):
            value = (value << 1 ^ (0x04C11DB7 if value & 0x80000000 else 0)) & ALL
        values.append(value)
    return tuple(values)


def _pages(data: bytes, position: Callable[[int, int, bool], int]) -> bytes:
    out = bytearray()
    table = _table()
    at = number = 0
    while at < len(data):
        segments = data[at + 26]
        end = at + 27 + segments + sum(data[at + 27 : at + 27 + segments])
        page = bytearray(data[at:end])
        was = struct.unpack_from("<q", page, 6)[0]
        struct.pack_into("<q", page, 6, position(number, was, end == len(data)))
        struct.pack_into("<I", page, 22, 0)
        crc = 0
        for byte in page:
            crc = (crc << 8 & ALL) ^ table[crc >> 24 ^ byte]
        struct.pack_into("<I", page, 22, crc)
        out += page
        at, number = end, number + 1
    return bytes(out)


def mp3() -> Iterator[Forged]:
    """Counts, sizes and paddings in the header frame of mp3."""
    data = whole("mp3", "libmp3lame")
    at = max(data.find(b"Xing"), data.find(b"Info"))
    for name, offset in (("frames", 8), ("bytes", 12)):
        for value in (0, 1, 10, HUGE, ALL):
            yield Forged(f"mp3 {name} {value}", patched(data, at + offset, ">I", value))
    yield Forged("mp3 table of zeros", data[: at + 16] + bytes(100) + data[at + 116 :])
    for name, value in (("no padding", 0), ("all padding", 0xFFFFFF), ("end padding", 0x000FFF), ("delay", 0xFFF000)):
        yield Forged(f"mp3 {name}", patched(data, at + 141, ">BH", value >> 16, value & 0xFFFF))
        few = patched(data, at + 8, ">I", 20)
        yield Forged(f"mp3 20 frames, {name}", patched(few, at + 141, ">BH", value >> 16, value & 0xFFFF))


def flac() -> Iterator[Forged]:
    """The stream information of FLAC: frames know their own rate and size."""
    data = whole("flac", "flac")
    packed = struct.unpack_from(">Q", data, 18)[0]
    for samples in (0, 1, 100, 16_000, 10**7, (1 << 36) - 1):
        yield Forged(f"flac {samples} samples", patched(data, 18, ">Q", packed >> 36 << 36 | samples))
    for rate in (1, 8000, 48_000, 96_000):
        yield Forged(f"flac {rate} Hz", patched(data, 18, ">Q", packed & (1 << 44) - 1 | rate << 44))
    for name, least, most in (("0", 0, 0), ("16", 16, 16), ("65535", 65_535, 65_535), ("reversed", 65_535, 16)):
        yield Forged(f"flac blocks of {name}", patched(data, 8, ">HH", least, most))
    yield Forged(
        "flac frames of 1 byte", patched(data, 12, ">HIH", 0, 0x01000001, data[18] << 8 | data[19])[: len(data)]
    )
    yield Forged("flac other md5", data[:26] + bytes(range(16)) + data[42:])


def riff() -> Iterator[Forged]:
    """The numbers of a WAV that follow from others."""
    data = wav(int16(speechlike(SECONDS)).tobytes())
    for value in (0, 1, 2, 31_999, 32_001, 320, 3_200_000, HUGE, ALL):
        yield Forged(f"wav {value} bytes a second", patched(data, 28, "<I", value))
    for value in (0, 1, 3, 4, 8, 100, 2047, 9999, 0xFFFD, 0xFFFF):
        yield Forged(f"wav blocks of {value} bytes", patched(data, 32, "<H", value))
    for value in (0, 1, 100, HUGE):
        yield Forged(f"wav riff size {value}", patched(data, 4, "<I", value))
    fact = b"fact" + struct.pack("<II", 4, 1)
    yield Forged("wav fact of one sample", wav(int16(speechlike(SECONDS)).tobytes(), before_data=fact))
    ima = whole("wav", "adpcm_ima_wav")
    at = ima.index(b"fact") + 8
    for value in (0, 1, 1000, ALL):
        yield Forged(f"wav adpcm fact {value}", patched(ima, at, "<I", value))
    for value in (0, 1, ALL):
        yield Forged(f"wav adpcm {value} bytes a second", patched(ima, 28, "<I", value))


def others() -> Iterator[Forged]:
    """AIFF, AU, CAF, W64, AVI, ASF, FLV and MPEG-TS."""
    aiff = whole("aiff", "pcm_s16be")
    at = aiff.index(b"COMM") + 10
    for value in (0, 1, 100, HUGE, ALL):
        yield Forged(f"aiff {value} frames", patched(aiff, at, ">I", value))
    caf = whole("caf", "pcm_s16le")
    at = caf.index(b"desc") + 12
    for name, offset, value in (
        ("bytes a packet 0", 16, 0),
        ("bytes a packet 1", 16, 1),
        ("frames a packet 0", 20, 0),
        ("frames a packet 1000", 20, 1000),
        ("frames a packet huge", 20, ALL),
    ):
        yield Forged(f"caf {name}", patched(caf, at + offset, ">I", value))
    au = whole("au", "pcm_s16be")
    for value in (0, 1, 100, ALL):
        yield Forged(f"au {value} bytes", patched(au, 8, ">I", value))
    w64 = whole("w64", "pcm_s16le")
    fmt = w64.index(b"fmt ") + 24
    for value in (0, 1, ALL):
        yield Forged(f"w64 {value} bytes a second", patched(w64, fmt + 8, "<I", value))
    avi = whole("avi", "libmp3lame")
    head = avi.index(b"strh") + 8
    for name, offset in (("scale", 20), ("rate", 24), ("start", 28), ("length", 32), ("sample size", 44)):
        for value in (0, 1, HUGE):
            yield Forged(f"avi {name} {value}", patched(avi, head + offset, "<I", value))
    asf = whole("asf", "wmav2")
    head = asf.index(bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")) + 24
    for name, offset in (("play duration", 40), ("send duration", 48), ("preroll", 56)):
        for value in (0, 1, HUGE, (1 << 63) - 1):
            yield Forged(f"asf {name} {value}", patched(asf, head + offset, "<Q", value))
    flv = whole("flv", "libmp3lame", 44_100)
    for name, time in (
        ("all 0", lambda _: 0),
        ("backwards", lambda was: 10**6 - was),
        ("far apart", lambda was: was * 999),
    ):
        yield Forged(f"flv times {name}", _tags(flv, time))


def _tags(data: bytes, time: Callable[[int], int]) -> bytes:
    out = bytearray(data)
    at = 13
    while at + 11 <= len(data):
        size = int.from_bytes(data[at + 1 : at + 4], "big")
        was = int.from_bytes(data[at + 4 : at + 7], "big") | data[at + 7] << 24
        now = time(was) & ALL
        out[at + 4 : at + 8] = (now & 0xFFFFFF).to_bytes(3, "big") + bytes([now >> 24])
        at += 11 + size + 4
    return bytes(out)
