"""Every channel is heard: alone, together, and in opposite phase."""

from pathlib import Path

import av
import numpy as np
import pytest

from openproxy.audio import RATE, open_audio
from support.clips import encode, int16, speechlike, wav

CASES = Path(__file__).parents[1] / "data" / "cases"
VOICE = speechlike(4.0)
OTHER = np.convolve(np.random.default_rng(3).standard_normal(len(VOICE)), np.ones(9), "same").astype(np.float32) / 20
SILENCE = np.zeros_like(VOICE)


def mix(*channels, rate=RATE):
    data = int16(np.stack(channels, axis=1)).tobytes()
    with open_audio(wav(data, channels=len(channels), rate=rate)) as audio:
        assert audio.channels == len(channels)
        return np.concatenate(list(audio.blocks()))


def level(samples):
    return float(np.sqrt(np.mean(np.square(samples, dtype=np.float64))))


def likeness(one, other):
    return float(np.corrcoef(one, other)[0, 1])


def test_equal_channels_are_that_channel():
    assert np.allclose(mix(VOICE, VOICE), int16(VOICE) / 32768, atol=1e-6)


@pytest.mark.parametrize("channels", [2, 6, 8])
@pytest.mark.parametrize("place", [0, -1])
def test_a_voice_on_one_channel_keeps_its_level(channels, place):
    planes = [SILENCE] * channels
    planes[place] = VOICE
    assert np.allclose(mix(*planes), int16(VOICE) / 32768, atol=1e-6)


def test_a_voice_on_one_channel_of_eight_with_noise_on_the_others():
    chance = np.random.default_rng(5)
    noise = [0.001 * chance.standard_normal(len(VOICE)).astype(np.float32) for _ in range(7)]
    heard = mix(*noise[:3], VOICE, *noise[3:])
    assert likeness(heard, VOICE) > 0.99
    assert level(heard) > 0.8 * level(VOICE)


@pytest.mark.parametrize("part", [1.0, 0.9, 0.5, 0.1])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_channel_in_opposite_phase_does_not_cancel_the_other(part, swapped):
    pair = (VOICE, -part * VOICE)
    heard = mix(*(reversed(pair) if swapped else pair))
    assert abs(likeness(heard, VOICE)) > 0.999
    assert level(heard) > 0.5 * level(VOICE)


def test_opposite_phase_with_a_noise_of_its_own():
    noise = 0.3 * level(VOICE) * np.random.default_rng(1).standard_normal(len(VOICE)).astype(np.float32)
    heard = mix(VOICE, noise - 0.8 * VOICE)
    assert abs(likeness(heard, VOICE)) > 0.95
    assert level(heard) > 0.7 * level(VOICE)


def test_phase_that_turns_over_on_the_way():
    sign = np.where(np.arange(len(VOICE)) < 2 * RATE, 1, -1)
    heard = mix(VOICE, (sign * VOICE).astype(np.float32))
    for half in (slice(0, 2 * RATE), slice(2 * RATE, None)):
        assert abs(likeness(heard[half], VOICE[half])) > 0.98
        assert level(heard[half]) > 0.9 * level(VOICE[half])


def test_opposite_phase_on_one_of_six():
    heard = mix(VOICE, VOICE, -VOICE, SILENCE, -0.9 * VOICE, SILENCE)
    assert abs(likeness(heard, VOICE)) > 0.999
    assert level(heard) > 0.9 * level(VOICE)


@pytest.mark.parametrize(("container", "codec"), [("mp3", "libmp3lame"), ("ogg", "libopus"), ("ipod", "aac")])
def test_opposite_phase_after_compression(container, codec):
    voice = speechlike(4.0, 48_000)
    with open_audio(encode(container, codec, np.stack([voice, -voice]), 48_000)) as audio:
        heard = np.concatenate(list(audio.blocks()))
    assert level(heard) > 0.8 * level(voice)


def test_two_voices_are_both_heard():
    heard = mix(VOICE, OTHER)
    both = VOICE + OTHER
    assert likeness(heard, both) > 0.98


def test_one_voice_after_the_other():
    half = 2 * RATE
    left, right = VOICE.copy(), OTHER.copy()
    left[half:], right[:half] = 0, 0
    heard = mix(left, right)
    assert likeness(heard[:half], VOICE[:half]) > 0.99
    assert likeness(heard[half:], OTHER[half:]) > 0.99
    assert min(level(heard[:half]) / level(VOICE[:half]), level(heard[half:]) / level(OTHER[half:])) > 0.4


def test_the_mix_never_jumps():
    """Where weights change, the step between neighbours stays that of the sources."""
    time = np.arange(4 * RATE) / RATE
    slow = np.sin(2 * np.pi * 50 * time).astype(np.float32)
    left = 0.4 * slow
    right = (0.4 * slow * np.where((time % 1.1) < 0.5, -1, 0.2)).astype(np.float32)
    heard = mix(left, right)
    assert np.abs(np.diff(heard)).max() < 0.1


def test_no_mix_is_louder_than_its_loudest_channel():
    loud = np.full(RATE, 0.99, np.float32)
    for planes in ((loud, loud), (loud, -loud), (loud, loud, loud, -loud, loud, loud)):
        assert np.abs(mix(*planes)).max() <= 1.0


@pytest.mark.parametrize("name", ["B09_left_silent_right_speech.flac", "B09_two_speakers_two_channels.flac"])
def test_both_channels_of_a_call(name):
    with av.open(str(CASES / name)) as container:
        frames = [frame.to_ndarray() for frame in container.decode(audio=0)]
    left, right = np.concatenate([frame.reshape(-1, 2) for frame in frames]).astype(np.float32).T / 32768
    with open_audio(CASES / name) as audio:
        heard = np.concatenate(list(audio.blocks()))
    assert len(heard) == len(left)
    for start in range(0, len(heard) - RATE // 2, RATE // 2):
        piece = slice(start, start + RATE // 2)
        assert level(heard[piece]) >= 0.4 * max(level(left[piece]), level(right[piece]))
