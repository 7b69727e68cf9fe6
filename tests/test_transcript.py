"""The value that everything is made into and made from."""

import dataclasses
import pickle

import pytest

from openproxy.transcript import Segment, Transcript, Usage, Word, from_segments, whole

FIRST = Segment(" Hello there.", 0.0, 1.0, words=(Word(" Hello", 0.0, 0.4), Word(" there.", 0.4, 1.0, 0.9)))
SECOND = Segment(" 你好。", 1.5, 2.0, speaker="B")


def test_segments_are_joined_as_they_are() -> None:
    usage = Usage(input_tokens=3, output_tokens=4)
    made = from_segments(iter([FIRST, SECOND]), language="en", duration=2.5, usage=usage, task="translate")
    assert made == Transcript(
        text="Hello there. 你好。",
        language="en",
        duration=2.5,
        segments=(FIRST, SECOND),
        words=FIRST.words,
        usage=usage,
        task="translate",
    )


def test_no_segments_are_silence() -> None:
    assert from_segments([]) == Transcript("")


@pytest.mark.parametrize(
    ("transcript", "timed"),
    [
        (Transcript(""), True),
        (Transcript("Hello."), False),
        (from_segments([FIRST]), True),
        (Transcript("Hello there.", words=FIRST.words), True),
    ],
)
def test_whether_it_has_times(transcript: Transcript, timed: bool) -> None:
    assert transcript.timed is timed


def test_speakers_in_the_order_of_their_first_words() -> None:
    parts = [Segment(" a", index, index + 1, speaker=name) for index, name in enumerate(["B", "A", None, "B"])]
    assert from_segments(parts).speakers == ("B", "A")
    assert Transcript("a b", words=(Word("a", 0, 1, speaker="X"), Word(" b", 1, 2, speaker="X"))).speakers == ("X",)
    assert from_segments([FIRST]).speakers == ()


def test_it_is_a_value() -> None:
    made = from_segments([FIRST, SECOND], language="en")
    assert pickle.loads(pickle.dumps(made)) == made
    assert hash(made) == hash(from_segments([FIRST, SECOND], language="en"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.text = "other"  # type: ignore[misc]


def test_whole() -> None:
    parts = (Segment(" One.", 0, 1), Segment(" Two.", 1, 2))
    assert whole(Transcript(" One.\n", segments=parts)) == Transcript("One.", segments=parts)
    assert whole(Transcript(" ", segments=parts)) == Transcript("One. Two.", segments=parts)
    assert whole(Transcript("")) == Transcript("")
