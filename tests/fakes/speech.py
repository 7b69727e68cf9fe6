"""The recording that the fakes understand, whatever bytes they are sent: two sentences of two speakers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Spoken:
    word: str
    start: float
    end: float
    speaker: int


WORDS = (
    Spoken("Hello", 0.1, 0.4, 0),
    Spoken("there.", 0.4, 0.9, 0),
    Spoken("How", 2.0, 2.2, 1),
    Spoken("are", 2.2, 2.4, 1),
    Spoken("you?", 2.4, 2.8, 1),
)
SENTENCES = (WORDS[:2], WORDS[2:])
TEXT = "Hello there. How are you?"
DURATION = 3.5


def sentence(words: tuple[Spoken, ...]) -> str:
    return " ".join(one.word for one in words)
