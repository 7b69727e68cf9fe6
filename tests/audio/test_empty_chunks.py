"""Files with millions of empty chunks, before the audio or after it: read in no time, or refused in no time."""

import struct
import wave
from io import BytesIO
from time import monotonic, thread_time

import numpy as np
import pytest

from openproxy.audio import Limits, open_audio
from openproxy.audio.resampling import Samples
from openproxy.errors import AudioUnreadable
from support.clips import encode, speechlike

ZEROS = bytes(20_000_000)
JUNK = b"junk\0\0\0\0" * 2_000_000
LONGEST = 8.0
"""Seconds; without a limit they take a minute and more."""


def clip(seconds: float = 0.5) -> bytes:
    file = BytesIO()
    with wave.open(file, "wb") as out:
        out.setparams((1, 2, 16_000, 0, "NONE", ""))
        out.writeframes(np.arange(round(seconds * 16_000), dtype="<i2").tobytes())
    return file.getvalue()


def rf64(data: bytes) -> bytes:
    """The same in the 64-bit kind of wav (EBU Tech 3306): the sizes in a chunk of their own."""
    sizes = struct.pack("<QQQI", len(data) + 28, len(data) - 44, (len(data) - 44) // 2, 0)
    head = b"RF64\xff\xff\xff\xffWAVEds64" + struct.pack("<I", len(sizes)) + sizes
    return head + data[12:40] + b"\xff\xff\xff\xff" + data[44:]


def decoded(data: bytes, *, strict: bool = False) -> Samples:
    begun = monotonic()
    with open_audio(data, strict_containers=strict) as audio:
        samples = np.concatenate(list(audio.blocks()))
    assert monotonic() - begun < LONGEST
    return samples


@pytest.mark.parametrize("strict", [False, True])
def test_what_a_recorder_had_reserved_after_the_audio_is_not_read(strict: bool) -> None:
    np.testing.assert_array_equal(decoded(clip() + ZEROS, strict=strict), decoded(clip()))


@pytest.mark.parametrize("after", [ZEROS, JUNK])
def test_the_same_after_64_bit_sizes(after: bytes) -> None:
    np.testing.assert_array_equal(decoded(rf64(clip()) + after), decoded(clip()))


def test_chunks_before_the_audio_are_passed_over() -> None:
    data = clip()
    few = b"junk\0\0\0\0" * 150 + b"LIST" + struct.pack("<I", 5001) + bytes(5002)
    np.testing.assert_array_equal(decoded(data[:36] + few + data[36:]), decoded(data))


@pytest.mark.parametrize("strict", [False, True])
def test_a_header_of_nothing_else_is_damaged(strict: bool) -> None:
    data = clip()
    begun = monotonic()
    with pytest.raises(AudioUnreadable) as refused:
        open_audio(data[:36] + JUNK + data[36:], strict_containers=strict)
    assert refused.value.code == "damaged_audio"
    assert monotonic() - begun < LONGEST


def box(name: bytes, content: bytes = b"") -> bytes:
    return struct.pack(">I4s", 8 + len(content), name) + content


M4A = box(b"ftyp", b"M4A \0\0\0\0M4A ")
EMPTY_BOXES = box(b"free") * 3_000_000
ADTS = b"\xff\xf1\x60\x40\x00\xff\xfc"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (EMPTY_BOXES, "unrecognised_audio"),
        (M4A + EMPTY_BOXES, "damaged_audio"),
        (M4A + box(b"moof") * 3_000_000, "damaged_audio"),
        (M4A + box(b"mdat") * 3_000_000, "damaged_audio"),
        (M4A + box(b"moov", EMPTY_BOXES), "no_audio_track"),
        (M4A + box(b"moov", box(b"udta", EMPTY_BOXES)), "no_audio_track"),
        (b"#!AMR\n" + b"\x7c" * 25_000_000, "damaged_audio"),
        (ADTS * 3_000_000, "damaged_audio"),
    ],
    ids=["free", "ftyp and free", "moof", "mdat", "moov of free", "udta of free", "amr", "adts"],
)
def test_millions_of_empty_boxes_or_packets_are_refused_after_a_second_of_work(data: bytes, code: str) -> None:
    begun = thread_time()
    with pytest.raises(AudioUnreadable) as caught, open_audio(data) as audio:
        list(audio.blocks())
    assert thread_time() - begun < 2.5
    assert caught.value.code == code


def test_millions_of_empty_packets_behind_the_audio_end_it() -> None:
    sound = encode("adts", "aac", speechlike(1.0))
    begun = thread_time()
    with open_audio(sound + ADTS * 3_000_000, Limits(None)) as audio:
        measured = thread_time()  # without a limit, by every packet
        samples = sum(map(len, audio.blocks()))
    assert thread_time() - measured < (measured - begun) / 2
    assert samples == pytest.approx(16_000, abs=4000)
