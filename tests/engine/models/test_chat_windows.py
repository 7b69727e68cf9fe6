import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from openproxy.audio import RATE
from openproxy.engine.models.chat_windows import pause, windows


def _noise(seconds: float, loudness: float = 0.1, seed: int = 1) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0, loudness, round(seconds * RATE)).astype(np.float32)


def _silence(seconds: float) -> NDArray[np.float32]:
    return np.zeros(round(seconds * RATE), np.float32)


def _blocks(samples: NDArray[np.float32], seconds: float) -> list[NDArray[np.float32]]:
    size = round(seconds * RATE)
    return [samples[at : at + size] for at in range(0, len(samples), size)]


@pytest.mark.parametrize("block", [0.7, 5.0, 30.0])
@pytest.mark.parametrize("longest", [1.0, 5.0, 12.5, 30.0])
def test_windows_joined_are_the_recording(block: float, longest: float) -> None:
    recording = np.concatenate([_noise(3, seed=at) if at % 3 else _silence(1.7) for at in range(20)])
    cut = list(windows(_blocks(recording, block), longest))
    assert np.array_equal(np.concatenate(cut), recording)
    assert max(map(len, cut)) <= longest * RATE
    assert all(len(window) >= longest * RATE / 4 for window in cut[:-1])


@pytest.mark.parametrize("seconds", [0.01, 29.0, 30.0])
def test_a_recording_that_fits_stays_whole(seconds: float) -> None:
    recording = _noise(seconds)
    (window,) = windows(_blocks(recording, 30.0), 30.0)
    assert np.array_equal(window, recording)


def test_one_sample_more_than_fits_is_cut_once_and_not_at_the_end() -> None:
    recording = _noise(30 + 1 / RATE)
    first, rest = windows(_blocks(recording, 30.0), 30.0)
    assert len(first) + len(rest) == len(recording)
    assert len(rest) > 0.1 * RATE


def test_nothing_gives_no_window() -> None:
    assert list(windows([], 30.0)) == []


def test_cuts_lie_in_the_pauses_between_words() -> None:
    words = [_noise(1.6, seed=at) for at in range(12)]
    recording = np.concatenate(list(itertools.chain.from_iterable((word, _silence(0.8)) for word in words)))
    edges = np.cumsum([len(window) for window in windows([recording], 5.0)])[:-1]
    assert len(edges) >= 5
    for edge in edges:
        assert not recording[edge - round(0.25 * RATE) : edge + round(0.25 * RATE)].any()


def test_the_first_pause_is_taken_and_a_breath_is_none() -> None:
    recording = np.concatenate([_noise(2), _silence(0.2), _noise(1), _silence(0.5), _noise(1), _silence(0.9)])
    assert pause(recording, RATE, len(recording)) / RATE == pytest.approx(3.45, abs=0.01)


def test_a_long_pause_is_cut_shortly_before_its_end() -> None:
    recording = np.concatenate([_noise(1.5), _silence(2.5), _noise(1)])
    assert pause(recording, RATE, len(recording)) / RATE == pytest.approx(3.7, abs=0.01)


@pytest.mark.parametrize("more", [1, 160, 8_000])
def test_silence_to_the_end_leaves_more_than_a_sample_for_the_last_window(more: int) -> None:
    recording = np.concatenate([_noise(2), _silence(3), np.zeros(more, np.float32)])
    first, last = windows([recording], 5.0)
    assert len(first) + len(last) == len(recording)
    assert len(last) >= 0.3 * RATE
    assert [len(window) for window in windows([np.zeros(5 * RATE + 1, np.float32)], 5.0)] == [75_200, 4_801]


def test_a_hum_is_a_pause_beside_loud_speech() -> None:
    recording = np.concatenate([_noise(2), _noise(0.7, 0.002), _noise(2)])
    assert 2.3 <= pause(recording, RATE // 2, len(recording)) / RATE <= 2.45


def test_the_quietest_point_is_taken_where_there_is_no_pause() -> None:
    recording = np.concatenate([_noise(2), _noise(0.3, 0.05), _noise(2)])
    assert 2.1 <= pause(recording, 0, len(recording)) / RATE <= 2.2
