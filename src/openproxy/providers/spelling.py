"""Vendors' word lists against the texts that they come with: the words as the text spells them, or that some are missing."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from openproxy.formats import wrapping
from openproxy.transcript import Word


def spelled(words: Sequence[Word], said: str) -> tuple[Word, ...] | None:
    """The words as `said` spells them, with its white space and punctuation, so that joined they are `said`.

    None where they are not all that is said. A list may leave out punctuation and capitals, or have blanks that the
    text has not: letters and digits decide, and where a word has neither, all that is not blank. Pieces of a word, as
    servers list them that take tokens for words, become one.
    """
    if not words or not said.strip():
        return None
    starts = _places(words, said, str.isalnum) or _places(words, said, _visible)
    if starts is None:
        return None
    found: list[Word] = []
    for word, begin, end in zip(words, starts, [*starts[1:], len(said)], strict=True):
        text = said[begin:end]
        if found and _goes_on(found[-1].text, text):
            found[-1] = replace(found[-1], text=found[-1].text + text, end=max(found[-1].end, word.end))
        else:
            found.append(replace(word, text=text))
    return tuple(found)


def _goes_on(before: str, after: str) -> bool:
    """Whether `after` belongs to the word that `before` begins, or is only its punctuation."""
    if after[0].isspace() or wrapping.breakable(before, after):
        return False
    return (before[-1].isalnum() and after[0].isalnum()) or not any(map(str.isalnum, after))


def _places(words: Sequence[Word], said: str, counts: Callable[[str], bool]) -> list[int] | None:
    """Where in `said` each word begins; None where the characters that count are not those of the words."""
    text, places = _kept(said, counts)
    parts = [_kept(word.text, counts)[0] for word in words]
    if not all(parts) or "".join(parts) != text:
        return None
    starts, done = [0], len(parts[0])
    for part in parts[1:]:
        starts.append(_cut(said, places[done - 1] + 1, places[done]))
        done += len(part)
    return starts


def _kept(text: str, counts: Callable[[str], bool]) -> tuple[str, list[int]]:
    """The characters of `text` that count, in one case, and where in it each stands."""
    pairs = [
        (one, place)
        for place, character in enumerate(text)
        for one in character.casefold()
        if counts(character) and counts(one)
    ]
    return "".join(one for one, _ in pairs), [place for _, place in pairs]


def _cut(said: str, begin: int, end: int) -> int:
    """Where between two words the second one begins: at the white space; without any, punctuation goes with the first."""
    return next((place for place in range(begin, end) if said[place].isspace()), end)


def _visible(character: str) -> bool:
    return not character.isspace()
