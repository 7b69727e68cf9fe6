"""Pieces of words and short words: nothing is written down that cannot have been said, and what was said is."""

import numpy as np
import pytest
from numpy.typing import NDArray

from openproxy.audio import RATE
from openproxy.engine.models import Options, Transcriber
from openproxy.engine.models.load import load
from openproxy.transcript import Segment, Transcript
from support import digits
from support.engine_server import CASES, SPEECH
from support.recordings import recording

FASTEST = 25
"""Letters that are said in a second."""


@pytest.fixture(scope="module")
def tiny() -> Transcriber:
    return load("tiny.en")


@pytest.fixture(scope="module")
def spoken() -> dict[str, NDArray[np.float32]]:
    paths = (SPEECH / "jfk.wav", SPEECH / "sense0880.wav", CASES / "B07_half_second_word.wav")
    return {path.stem: digits.read(path) for path in paths}


def text(model: Transcriber, samples: NDArray[np.float32], **options: object) -> str:
    items = list(model.stream(recording(samples), Options(**options)))  # type: ignore[arg-type]
    transcript = items[-1]
    assert isinstance(transcript, Transcript)
    assert "".join(item.text for item in items if isinstance(item, Segment)).strip() == transcript.text
    assert transcript.duration == len(samples) / RATE
    return transcript.text


def letters(said: str) -> int:
    return sum(map(str.isalnum, said))


def plain(said: str) -> str:
    return "".join(filter(str.isalnum, said.lower()))


def cut(samples: NDArray[np.float32], at: float, seconds: float) -> NDArray[np.float32]:
    return samples[round(at * RATE) : round((at + seconds) * RATE)]


@pytest.mark.parametrize("vad", [True, False])
@pytest.mark.parametrize(
    ("name", "times"), [("jfk", (0.5, 7.1, 9.5)), ("sense0880", (0.78, 1.06, 1.48, 1.62, 1.9, 2.04))]
)
def test_pieces_of_words_are_no_phrases(
    tiny: Transcriber, spoken: dict[str, NDArray[np.float32]], name: str, times: tuple[float, ...], vad: bool
) -> None:
    for at in times:
        for seconds in (0.1, 0.2):
            found = text(tiny, cut(spoken[name], at, seconds), vad=vad)
            assert letters(found) <= FASTEST * seconds, f"{found!r} in {seconds} s at {at} s"
            assert "thank" not in found.lower()


def test_short_words_stay(tiny: Transcriber, spoken: dict[str, NDArray[np.float32]]) -> None:
    stop = spoken["B07_half_second_word"]
    assert len(stop) / RATE < 0.52
    assert plain(text(tiny, stop)) == "stop"
    assert plain(text(tiny, cut(stop, 0.02, 0.47))) == "stop"


def test_a_word_that_is_cut_off_tightly_stays(tiny: Transcriber) -> None:
    (left,) = (clip.samples for clip in digits.clips() if clip.en == "left")
    loud = np.flatnonzero(np.abs(left) > 0.03 * np.abs(left).max())
    tight = left[loud[0] : loud[-1]]
    assert 0.3 < len(tight) / RATE < 0.5
    assert plain(text(tiny, tight)) == "left"


def test_a_phrase_that_was_said_stays(tiny: Transcriber, spoken: dict[str, NDArray[np.float32]]) -> None:
    fellow = cut(spoken["jfk"], 0.3, 0.9)
    assert letters(text(tiny, fellow)) >= 5
