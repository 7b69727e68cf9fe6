"""Blocks are of one size and lose nothing: whatever their size, together they are the same clip."""

from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from openproxy.audio import RATE, open_audio
from support.clips import encode, int16, speechlike, wav

CASES = Path(__file__).parents[1] / "data" / "cases"


@pytest.mark.parametrize("seconds", [0.01, 0.37, 1.0, 2.5, 1000.0])
@pytest.mark.parametrize(
    "source",
    [
        wav(int16(speechlike(7.3, 44_100)).tobytes(), rate=44_100),
        encode("mp3", "libmp3lame", np.stack([speechlike(7.3, 44_100), -speechlike(7.3, 44_100)]), 44_100),
        encode("webm", "libopus", speechlike(7.3, 48_000), 48_000),
    ],
    ids=["wav", "mp3", "webm"],
)
def test_the_sum_of_the_blocks_is_the_clip(source, seconds):
    with open_audio(source) as audio:
        whole = np.concatenate(list(audio.blocks(3600)))
        blocks = list(audio.blocks(seconds))
    size = round(seconds * RATE)
    assert [len(block) for block in blocks[:-1]] == [size] * (len(blocks) - 1)
    assert 0 < len(blocks[-1]) <= size
    assert {block.dtype for block in blocks} == {np.dtype(np.float32)}
    assert np.array_equal(np.concatenate(blocks), whole)


def test_a_clip_of_whole_blocks_has_no_empty_one_at_the_end():
    with open_audio(wav(bytes(2 * 4 * RATE))) as audio:
        assert [len(block) for block in audio.blocks(2.0)] == [2 * RATE, 2 * RATE]


def test_decoded_seconds_follow_the_blocks_given_out():
    with open_audio(wav(bytes(2 * 5 * RATE))) as audio:
        assert audio.decoded_seconds == 0.0
        assert [audio.decoded_seconds for _ in audio.blocks(2.0)] == [2.0, 4.0, 5.0]
        next(audio.blocks(3.0))
        assert audio.decoded_seconds == 3.0


@pytest.mark.parametrize("rate", [8_000, 22_050, 44_100, 48_000, 96_000])
def test_resampling_keeps_time_and_tone(rate):
    """A tone of 440 Hz at any rate is the same tone at 16 kHz, at the same moment."""
    seconds = np.arange(2 * rate) / rate
    tone = 0.5 * np.sin(2 * np.pi * 440 * seconds) * (seconds > 1.0)
    with open_audio(wav(int16(tone).tobytes(), rate=rate)) as audio:
        heard = np.concatenate(list(audio.blocks()))
    assert abs(len(heard) - 2 * RATE) <= 1
    moments = np.arange(len(heard)) / RATE
    inner = (moments > 1.05) & (moments < 1.95)
    assert np.abs(heard[inner] - 0.5 * np.sin(2 * np.pi * 440 * moments[inner])).max() < 0.005
    assert np.abs(heard[moments < 0.98]).max() < 0.005


def test_clips_decoded_side_by_side_do_not_mix():
    clips = [encode("mp3", "libmp3lame", speechlike(5.0, 44_100, seed=seed), 44_100) for seed in range(4)]

    def decode(clip):
        with open_audio(clip) as audio:
            return np.concatenate(list(audio.blocks(0.5)))

    alone = [decode(clip) for clip in clips]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(decode, clips * 3))
    assert all(np.array_equal(one, other) for one, other in zip(together, alone * 3, strict=True))


def test_closing_ends_with_the_file_and_leaves_what_was_handed_over_open():
    handed = BytesIO(wav(bytes(2 * RATE)))
    audio = open_audio(handed)
    audio.close()
    audio.close()
    assert not handed.closed
    with open_audio(CASES / "B01_moov_at_end.m4a") as audio:
        next(audio.blocks())
    with pytest.raises(ValueError, match="closed"):
        next(audio.blocks())
