import numpy as np
import pytest

from openproxy.audio import RATE
from openproxy.engine.chunks import SpeechMap, Stretch, cut_point, quietest, stretches


def _noise(seconds: float, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.5, 0.5, round(seconds * RATE)).astype(np.float32)


def _hush(samples: np.ndarray, start: float, end: float, level: float = 0.0) -> np.ndarray:
    samples[round(start * RATE) : round(end * RATE)] *= level
    return samples


def _blocks(samples: np.ndarray, size: int) -> list[np.ndarray]:
    return [samples[at : at + size] for at in range(0, len(samples), size)]


def _all(samples: np.ndarray) -> list[tuple[int, int]]:
    return [(0, len(samples))]


def test_the_quietest_point_is_the_middle_of_the_pause() -> None:
    samples = _hush(_noise(10), 6.0, 6.3)
    assert abs(quietest(samples, 0, len(samples)) / RATE - 6.15) <= 0.01


def test_a_quieter_pause_wins_over_a_longer_one() -> None:
    samples = _hush(_hush(_noise(10), 2.0, 3.0, 0.1), 7.0, 7.4, 0.01)
    assert 7.1 <= quietest(samples, 0, len(samples)) / RATE <= 7.3


def test_of_several_silences_the_latest_counts() -> None:
    samples = _hush(_hush(_noise(10), 2.0, 3.0), 7.0, 8.0)
    assert 7.15 <= quietest(samples, 0, len(samples)) / RATE <= 7.86


def test_only_the_range_is_looked_at() -> None:
    samples = _hush(_hush(_noise(10), 1.0, 1.5), 8.0, 8.4, 0.5)
    assert 8.1 <= quietest(samples, 5 * RATE, len(samples)) / RATE <= 8.3


@pytest.mark.parametrize(("first", "last", "middle"), [(0, 10, 5), (100, 100, 100), (0, 4799, 2399)])
def test_a_range_shorter_than_a_pause_is_cut_in_its_middle(first: int, last: int, middle: int) -> None:
    assert quietest(np.zeros(20_000, np.float32), first, last) == middle


def test_silence_at_the_end_is_cut_with_a_second_carried_over() -> None:
    samples = _noise(60)
    assert cut_point(samples, [(0, 40 * RATE)]) == 59 * RATE
    assert cut_point(samples, [(0, 60 * RATE - 800)]) == 60 * RATE - 800
    assert cut_point(samples, []) == 59 * RATE


def test_a_pause_before_the_last_words_is_cut_in_its_middle() -> None:
    assert cut_point(_noise(60), [(0, 50 * RATE), (52 * RATE, 60 * RATE)]) == 51 * RATE


def test_a_pause_long_ago_is_not_gone_back_to() -> None:
    samples = _hush(_noise(180), 170.0, 170.3)
    assert abs(cut_point(samples, [(0, 50 * RATE), (52 * RATE, 180 * RATE)]) / RATE - 170.15) <= 0.01


@pytest.mark.parametrize("block_seconds", [0.1, 7.0, 30.0, 500.0])
def test_stretches_join_to_the_recording_without_a_gap(block_seconds: float) -> None:
    samples = _noise(47)
    parts = list(stretches(_blocks(samples, round(block_seconds * RATE)), _all, longest=10))
    assert np.array_equal(np.concatenate([part.samples for part in parts]), samples)
    assert [part.offset for part in parts] == np.cumsum([0, *(len(part.samples) for part in parts[:-1])]).tolist()
    assert all(0 < len(part.samples) <= 10 * RATE for part in parts)
    assert all(part.spans == ((0, len(part.samples)),) for part in parts)


def test_speech_is_neither_lost_nor_doubled_at_a_cut() -> None:
    samples = np.concatenate([_hush(_noise(9, seed), 8.5, 9.0) for seed in range(8)])
    parts = list(stretches(_blocks(samples, 30 * RATE), _all, longest=20))
    assert len(parts) == 4
    assert np.array_equal(np.concatenate([part.speech for part in parts]), samples)
    edges = [part.offset for part in parts[1:]]
    assert all(not samples[edge - 1000 : edge + 1000].any() for edge in edges)


def test_spans_end_with_their_stretch() -> None:
    found: list[list[tuple[int, int]]] = [[(0, 2 * RATE), (4 * RATE, 10 * RATE)], [(0, RATE)]]
    samples = _hush(_noise(12), 8.0, 8.3)
    first, second = stretches([samples], lambda _: found.pop(0), longest=10)
    assert first.spans == ((0, 2 * RATE), (4 * RATE, len(first.samples)))
    assert abs(len(first.samples) / RATE - 8.15) <= 0.01
    assert second.offset == len(first.samples)
    assert second.spans == ((0, RATE),)


def test_one_exactly_as_long_as_a_stretch_is_one() -> None:
    assert len(list(stretches(_blocks(_noise(20), 10 * RATE), _all, longest=20))) == 1


def test_no_samples_give_no_stretch() -> None:
    assert list(stretches([], _all, longest=10)) == []
    assert list(stretches([np.zeros(0, np.float32)], _all, longest=10)) == []


def test_the_speech_of_a_stretch_is_joined() -> None:
    samples = np.arange(10, dtype=np.float32)
    assert Stretch(0, samples, ((1, 3), (7, 9))).speech.tolist() == [1, 2, 7, 8]
    assert Stretch(0, samples, ()).speech.tolist() == []
    assert Stretch(0, samples, ((0, 10),)).speech is samples


SPANS = [(10 * RATE, 15 * RATE), (20 * RATE, 30 * RATE), (100 * RATE, 101 * RATE)]
"""Joined: 0-5, 5-15, 15-16."""


@pytest.mark.parametrize(
    ("joined", "restored"), [(0, 10), (4.9, 14.9), (5, 20), (14.99, 29.99), (15, 100), (16, 101), (20, 101)]
)
def test_a_moment_is_restored(joined: float, restored: float) -> None:
    assert SpeechMap(SPANS).moment(joined) == pytest.approx(restored)


@pytest.mark.parametrize(
    ("joined", "restored"),
    [
        ((0.0, 5.0), (10.0, 15.0)),
        ((1.0, 5.2), (11.0, 15.0)),
        ((4.8, 9.0), (20.0, 24.0)),
        ((4.0, 9.0), (14.0, 24.0)),
        ((4.7, 5.3), (14.7, 15.0)),
        ((5.0, 15.0), (20.0, 30.0)),
        ((3.0, 15.9), (13.0, 100.9)),
        ((15.5, 17.0), (100.5, 101.0)),
    ],
)
def test_a_segment_stays_on_its_side_of_a_silence(joined: tuple[float, float], restored: tuple[float, float]) -> None:
    assert SpeechMap(SPANS).segment(*joined) == pytest.approx(restored)


@pytest.mark.parametrize(
    ("joined", "restored"), [((4.6, 5.1), (14.6, 15.0)), ((4.9, 5.5), (20.0, 20.5)), ((15.2, 15.4), (100.2, 100.4))]
)
def test_a_word_does_not_last_through_a_silence(joined: tuple[float, float], restored: tuple[float, float]) -> None:
    assert SpeechMap(SPANS).word(*joined) == pytest.approx(restored)
