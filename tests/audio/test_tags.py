"""An ID3 tag before a recording of any kind."""

import io

import numpy as np
import pytest

from openproxy.audio import open_audio
from openproxy.errors import AudioUnreadable
from support.clips import encode, int16, speechlike, wav

SPEECH = speechlike(1.5)
PLAIN = wav(int16(SPEECH).tobytes())


def tag(size: int, *, flags: int = 0) -> bytes:
    """A tag with a picture of `size` bytes that is none."""
    picture = b"\0image/png\0\3\0".ljust(size, b"\xff")
    frame = b"APIC" + len(picture).to_bytes(4, "big") + b"\0\0" + picture
    sizes = bytes(len(frame) >> shift & 0x7F for shift in (21, 14, 7, 0))
    footer = b"3DI\4\0" + bytes([flags]) + sizes if flags & 0x10 else b""
    return b"ID3" + bytes([4 if footer else 3, 0, flags]) + sizes + frame + footer


def heard(data: bytes) -> tuple[str, int]:
    with open_audio(io.BytesIO(data)) as audio:
        return audio.container, len(np.concatenate(list(audio.blocks())))


@pytest.mark.parametrize("before", [tag(40), tag(70_000), tag(500, flags=0x10), tag(30) + tag(3_000_000)])
@pytest.mark.parametrize(
    "clip",
    [
        pytest.param(PLAIN, id="wav"),
        pytest.param(encode("ogg", "libopus", SPEECH, 48_000), id="ogg"),
        pytest.param(encode("webm", "libopus", SPEECH, 48_000), id="webm"),
        pytest.param(encode("mp4", "aac", SPEECH), id="mp4"),
        pytest.param(encode("aiff", "pcm_s16be", SPEECH), id="aiff"),
        pytest.param(encode("flac", "flac", SPEECH), id="flac"),
    ],
)
def test_what_follows_a_tag_is_heard_b05(before: bytes, clip: bytes) -> None:
    assert heard(before + clip) == heard(clip)


@pytest.mark.parametrize("cut", [0, 1, 30])
def test_a_tag_alone_holds_no_samples_b06(cut: int) -> None:
    data = tag(1000)
    with pytest.raises(AudioUnreadable) as raised:
        open_audio(data[: len(data) - cut])
    assert str(raised.value) == "the file holds no audio samples: there is a tag and nothing after it"
    assert raised.value.code == "no_samples"
