"""Recordings that were written to a pipe: their headers leave the sizes open, and all of them is heard."""

import struct

import numpy as np
import pytest

from openproxy.audio import RATE, open_audio
from openproxy.errors import AudioUnreadable
from support.clips import int16, speechlike, wav

SPEECH = int16(speechlike(1.5))
FORMAT = struct.pack("<HHIIHH", 1, 1, RATE, 2 * RATE, 2, 16)
OPEN = 0x7FFFFFFFFFFFFFFF


def guid(name: bytes) -> bytes:
    return name + bytes.fromhex("f3acd3118cd100c04f8edb8a")


def rf64(kind: bytes, audio: int, notes: bytes = b"") -> bytes:
    head = kind + b"\xff\xff\xff\xffWAVEds64" + struct.pack("<IQQQI", 28, 0, audio, 0, 0)
    return head + b"fmt " + struct.pack("<I", 16) + FORMAT + notes + b"data\xff\xff\xff\xff" + SPEECH.tobytes()


def w64(whole: int, audio: int) -> bytes:
    start = bytes.fromhex("726966662e91cf11a5d628db04c10000") + struct.pack("<Q", whole) + guid(b"wave")
    form = guid(b"fmt ") + struct.pack("<Q", 40) + FORMAT
    return start + form + guid(b"data") + struct.pack("<Q", audio) + SPEECH.tobytes()


def aiff(*, notes: bytes = b"", big_endian: bool = True) -> bytes:
    kind = b"AIFF" if big_endian else b"AIFC"
    common = struct.pack(">hIh", 1, 0, 16) + bytes.fromhex("400cfa00000000000000")
    common += b"" if big_endian else b"sowt\0\0"
    head = b"FORM\0\0\0\0" + kind + notes + b"COMM" + struct.pack(">I", len(common)) + common
    return head + b"SSND" + bytes(12) + SPEECH.astype(">i2" if big_endian else "<i2").tobytes()


@pytest.mark.parametrize(
    ("data", "container"),
    [
        (rf64(b"RF64", 0), "wav"),
        (rf64(b"BW64", 0), "wav"),
        (rf64(b"RF64", 0, b"LIST" + struct.pack("<I", 4) + b"INFO"), "wav"),
        (rf64(b"RF64", 2 * len(SPEECH)), "wav"),
        (w64(2**64 - 1, OPEN), "w64"),
        (w64(OPEN, 2**64 - 1), "w64"),
        (w64(104 + 2 * len(SPEECH), 24 + 2 * len(SPEECH)), "w64"),
        (aiff(), "aiff"),
        (aiff(big_endian=False), "aiff"),
        (aiff(notes=b"NAME\0\0\0\x03abc\0"), "aiff"),
    ],
)
def test_all_that_is_there_is_heard_b04(data: bytes, container: str) -> None:
    with open_audio(data) as audio:
        heard = np.concatenate(list(audio.blocks()))
        assert (audio.container, audio.duration) == (container, 1.5)
    assert np.array_equal(int16(heard), SPEECH)


@pytest.mark.parametrize("data", [rf64(b"RF64", 0), w64(2**64 - 1, OPEN), aiff()])
def test_a_header_alone_holds_no_samples(data: bytes) -> None:
    with pytest.raises(AudioUnreadable) as raised:
        open_audio(data[: -2 * len(SPEECH)])
    assert raised.value.code in ("no_samples", "damaged_audio")


@pytest.mark.parametrize("cut", [12, 20, 39, 41, 50])
@pytest.mark.parametrize("data", [rf64(b"RF64", 0), w64(2**64 - 1, OPEN), aiff()])
def test_a_header_cut_short_is_named(data: bytes, cut: int) -> None:
    with pytest.raises(AudioUnreadable) as raised:
        open_audio(data[:cut])
    assert raised.value.code in ("no_samples", "damaged_audio")


def test_a_big_endian_wav_is_refused_and_not_heard_as_noise_b03() -> None:
    data = b"RIFX" + wav(SPEECH.tobytes())[4:]
    with pytest.raises(AudioUnreadable) as raised:
        open_audio(data)
    assert raised.value.code == "unrecognised_audio"
    assert "RIFX" in str(raised.value)
