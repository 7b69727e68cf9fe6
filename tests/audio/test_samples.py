"""Frames handed in as a decoder gives them: formats that change, and numbers that damage made."""

import av
import numpy as np
import pytest

from openproxy.audio.limits import Limits
from openproxy.audio.samples import resampled
from openproxy.errors import AudioTooLong
from support.clips import speechlike

FREE = Limits(max_seconds=None)


def frame(planes, rate, *, form="fltp"):
    planes = np.atleast_2d(planes)
    built = av.AudioFrame.from_ndarray(planes, format=form, layout={1: "mono", 2: "stereo"}[len(planes)])
    built.sample_rate = rate
    return built


def heard(frames, limits=FREE):
    return np.concatenate(list(resampled(frames, limits, pcm=False)))


def test_damage_silences_only_its_own_samples():
    voice = speechlike(3.0)
    planes = np.stack([voice, voice])
    planes[:, 20_000:20_050] = np.nan
    planes[0, 30_000] = np.inf
    mixed = heard([frame(np.ascontiguousarray(planes[:, at : at + 1000]), 16_000) for at in range(0, 48_000, 1000)])
    assert np.array_equal(mixed[20_000:20_050], np.zeros(50, np.float32))
    rest = np.delete(np.arange(48_000), np.r_[20_000:20_050, 30_000])
    assert np.allclose(mixed[rest], voice[rest], atol=1e-5)


def test_rate_channels_and_sample_format_change_on_the_way():
    whole = np.full(16_000, 8_192, np.int16)
    parts = [
        frame(whole, 16_000, form="s16"),
        frame(np.full((2, 8_000), 0.25, np.float32), 8_000),
        frame(np.full((1, 44_100), 2**29, np.int32), 44_100, form="s32p"),
        frame(np.full((1, 16_000), 160, np.uint8), 16_000, form="u8"),
    ]
    mixed = heard(parts)
    assert len(mixed) == 4 * 16_000
    inner = np.abs(np.arange(len(mixed)) % 16_000 - 8_000) < 7_000
    assert np.allclose(mixed[inner], 0.25, atol=1e-3)


def test_formats_are_checked_on_every_change():
    frames = [frame(np.zeros((1, 100), np.float32), rate) for rate in (16_000, 8_000, 200_000)]
    with pytest.raises(AudioTooLong, match="audio sample rate 200000 Hz exceeds the maximum of 192000 Hz"):
        heard(frames)


def test_seconds_are_counted_over_all_rates_before_anything_is_converted():
    frames = [frame(np.zeros((1, rate), np.float32), rate) for rate in (16_000, 8_000)]
    assert len(heard(frames, Limits(max_seconds=2.0))) == 32_000
    with pytest.raises(AudioTooLong, match=r"audio is more than 1\.5 seconds long, maximum is 1\.5 seconds"):
        heard(frames, Limits(max_seconds=1.5))
