"""Headers that lie about time: the whole recording is heard, or it is refused; it is never cut in silence."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openproxy.audio import RATE, open_audio
from openproxy.errors import AudioTooLong, AudioUnreadable
from support import forged
from support.clips import speechlike
from support.forged import SECONDS, Forged

DATA = Path(__file__).parents[1] / "data" / "audio"


def heard(data: bytes) -> str:
    """`whole`, the code of the error, or what was heard instead."""
    try:
        with open_audio(data) as audio:
            samples = np.concatenate(list(audio.blocks()))
            declared = audio.duration
    except AudioUnreadable as error:
        return str(error.code)
    seconds = len(samples) / RATE
    if abs(seconds - SECONDS) > 0.13:
        return f"{seconds:.2f} s"
    for at in (0.3, 1.5, 2.6):
        if (alike := likeness(samples, at)) < 0.9:
            return f"only {alike:.2f} alike at {at} s"
    return "whole" if declared is None or declared < 2.1 * SECONDS else f"declared as {declared:.1f} s"


def likeness(samples: NDArray[np.float32], at: float) -> float:
    """How much a tenth of a second of the recording, `at` seconds, is like what was heard about there: 1 is the same."""
    start, length, around = round(at * RATE), RATE // 10, RATE // 8
    sent = speechlike(SECONDS)[start : start + length]
    got = np.lib.stride_tricks.sliding_window_view(samples[start - around : start + length + around], length)
    return float((got @ sent / (np.linalg.norm(got, axis=1) * np.linalg.norm(sent) + 1e-9)).max())


def wrong(clips: Iterable[Forged], allowed: dict[str, str] | None = None) -> tuple[int, dict[str, str]]:
    """How many there were, and those that were not heard whole, without what is `allowed` of them."""
    found = {clip.name: heard(clip.data) for clip in clips}
    unknown = set(allowed or {}) - set(found)
    assert not unknown
    return len(found), {
        name: result for name, result in found.items() if result not in ("whole", (allowed or {}).get(name))
    }


@pytest.mark.parametrize(("container", "codec"), [("ipod", "aac"), ("mov", "pcm_s16le"), ("ipod", "alac")])
def test_mp4(container: str, codec: str) -> None:
    label = f"{container} {codec}"
    allowed = {f"{label} 0 stts entries": "no_samples", f"{label} 4294967295 stts entries": "damaged_audio"}
    assert wrong(forged.mp4(container, codec), allowed) == (61, {})


def test_fragmented_mp4() -> None:
    assert wrong(forged.fragmented()) == (20, {})


@pytest.mark.parametrize(
    ("codec", "rate", "clips"), [("libopus", 48_000, 22), ("flac", RATE, 19), ("pcm_s16le", RATE, 16)]
)
def test_matroska(codec: str, rate: int, clips: int) -> None:
    assert wrong(forged.mkv("matroska", codec, rate)) == (clips, {})


def test_ogg() -> None:
    opus = forged.whole("ogg", "libopus", 48_000)
    unfinished = {"opus positions all -1": "no_samples", "opus positions all negative": "no_samples"}
    assert wrong(forged.ogg(opus, "opus"), unfinished) == (14, {})
    assert wrong(forged.ogg(forged.whole("ogg", "flac"), "flac")) == (14, {})


def test_mp3() -> None:
    def said(name: str) -> bool:
        return "padding" in name or "delay" in name

    assert wrong(clip for clip in forged.mp3() if not said(clip.name)) == (11, {})


def test_what_a_header_may_leave_out_is_no_more_than_its_format_allows() -> None:
    """The encoder's delay of mp3 has 12 bits, and its padding too; the pre-skip of Opus 16 (RFC 7845, section 5.1)."""
    for clip in forged.mp3():
        with open_audio(clip.data) as audio:
            assert sum(map(len, audio.blocks())) >= SECONDS * RATE - 2 * 4096, clip.name
    for clip in forged.pre_skip():
        with open_audio(clip.data) as audio:
            assert sum(map(len, audio.blocks())) >= SECONDS * RATE - 65_535 / 3 - 16, clip.name


def test_flac() -> None:
    broken = {f"flac blocks of {name}": "damaged_audio" for name in ("0", "16", "reversed")}
    assert wrong(forged.flac(), broken) == (16, {})


def test_wav() -> None:
    assert wrong(forged.riff()) == (31, {})


def test_more_channels_than_a_block_can_have() -> None:
    data = forged.patched(next(forged.riff()).data, 22, "<H", 40_000)
    with pytest.raises((AudioUnreadable, AudioTooLong)):
        open_audio(forged.patched(data, 34, "<H", 32))


def test_other_containers() -> None:
    broken = ("aiff 4294967295 frames", "caf bytes a packet 0", "caf frames a packet 0", "caf frames a packet huge")
    allowed = dict.fromkeys((*broken, "au 0 bytes"), "damaged_audio")
    assert wrong(forged.others(), allowed) == (47, {})


@pytest.mark.parametrize(("container", "codec"), [("ipod", "aac"), ("mov", "pcm_s16le")])
@pytest.mark.parametrize(("start", "end"), [(0.0, 1.5), (1.0, 2.0), (0.5, 3.0), (1.9, 3.0)])
def test_an_edit_list_that_can_be_true_is_followed(container: str, codec: str, start: float, end: float) -> None:
    """As players do: what was trimmed away is not heard."""
    data = forged.whole(container, codec)
    at = forged.box(data, *forged.EDITS) + 8
    first = int.from_bytes(data[at + 4 : at + 8], "big") + round(start * RATE)
    trimmed = forged.patched(data, at, ">II", round((end - start) * 1000), first)
    with open_audio(trimmed) as audio:
        samples = np.concatenate(list(audio.blocks()))
        assert audio.duration == pytest.approx(end - start, abs=0.2)
    assert len(samples) / RATE == pytest.approx(end - start, abs=0.08)
    whole = speechlike(SECONDS)[round(start * RATE) :]
    compared = min(len(samples), len(whole), RATE // 2)
    lag = np.correlate(whole[: compared + 1200], samples[:compared], "valid").argmax()
    assert abs(int(lag)) < 1200
    assert np.corrcoef(whole[lag : lag + compared], samples[:compared])[0, 1] > 0.8


def test_a_short_recording_keeps_its_edit_list() -> None:
    from support.clips import encode

    data = encode("ipod", "aac", speechlike(0.3))
    with open_audio(data) as audio:
        assert sum(map(len, audio.blocks())) / RATE == pytest.approx(0.3, abs=0.07)
