"""A Transcript -> phrases: stretches that belong together, cut at sentence ends, pauses and changes of speaker."""

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from openproxy.formats import wrapping
from openproxy.transcript import Segment, Transcript, Word

PAUSE_SECONDS = 0.7
"""A silence between two words that parts them."""

_WHOLE_WORD = 10
"""Words of up to so many characters are kept whole in scripts that are written without blanks."""

_CLOSING = "\"'”’»)]」』）】"
_SENTENCE_END = re.compile(r"[.!?…。！？．؟۔।॥།။។።]+$")


@dataclass(frozen=True, slots=True)
class Atom:
    """A text that is never broken, with its time."""

    text: str
    start: float
    """Seconds."""
    end: float
    """Seconds."""
    spaced: bool
    """Whether white space stands before it."""
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Phrase:
    """Atoms of one speaker that follow each other."""

    atoms: tuple[Atom, ...]
    measured: bool
    """Whether the times are those of words; otherwise a segment's time was shared out by length."""

    @property
    def speaker(self) -> str | None:
        """Who speaks."""
        return self.atoms[0].speaker

    @property
    def text(self) -> str:
        """As it reads."""
        return wrapping.join([(atom.spaced, atom.text) for atom in self.atoms])


def of(transcript: Transcript) -> list[Phrase]:
    """The phrases of a transcript, in order of time; of words where it has words, else one for each segment."""
    found: list[Phrase] = []
    run: list[Atom] = []
    for segment in _spoken(transcript):
        if segment.words and _same(segment.words, segment.text):
            run += _from_words(segment, run)
            continue
        found += _sentences(run)
        run = []
        atoms = tuple(_shared_out(segment.text, segment.start, segment.end, segment.speaker))
        if atoms:
            found.append(Phrase(atoms, measured=False))
    found += _sentences(run)
    if len(transcript.speakers) > 1:
        found.sort(key=lambda phrase: phrase.atoms[0].start)
    return found


def segments(transcript: Transcript) -> tuple[Segment, ...]:
    """The phrases as segments, for a transcript whose source gives the times of words only."""
    return tuple(
        Segment(
            text=f" {phrase.text}" if phrase.atoms[0].spaced else phrase.text,
            start=phrase.atoms[0].start,
            end=max(atom.end for atom in phrase.atoms),
            speaker=phrase.speaker,
        )
        for phrase in of(transcript)
    )


def ends_sentence(atom: Atom, following: Atom) -> bool:
    """Whether `following` begins a new sentence."""
    bare = atom.text.rstrip(_CLOSING)
    if not _SENTENCE_END.search(bare) or wrapping.abbreviated(bare):
        return False
    return not following.text.lstrip("\"'“‘(«¿¡")[:1].islower()


def _spoken(transcript: Transcript) -> Iterator[Segment]:
    segments, words = transcript.segments, transcript.words
    if not words or any(segment.words for segment in segments):
        yield from segments
        return
    whole = "".join(segment.text for segment in segments) if segments else transcript.text
    if segments and not _same(words, whole):
        yield from segments
        return
    if segments and not any(word.speaker for word in words):
        starts = [segment.start for segment in segments]
        words = tuple(
            replace(word, speaker=segments[max(0, bisect_right(starts, word.start) - 1)].speaker) for word in words
        )
    yield Segment(whole, words[0].start, max(word.end for word in words), words=words)


def _same(words: Sequence[Word], text: str) -> bool:
    """Whether words are all that a text says: some sources give the times of a few words only."""
    return not text.strip() or _letters("".join(word.text for word in words)) == _letters(text)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _from_words(segment: Segment, before: Sequence[Atom]) -> list[Atom]:
    found: list[Atom] = []
    for word in segment.words:
        for atom in _shared_out(word.text, word.start, word.end, word.speaker or segment.speaker, _WHOLE_WORD):
            last = found[-1] if found else None
            if last is None:
                apart = not (before and wrapping.breakable(before[-1].text, atom.text))
                found.append(replace(atom, spaced=atom.spaced or apart))
            elif not atom.spaced and last.speaker == atom.speaker and wrapping.joined_unbroken(last.text, atom.text):
                found[-1] = replace(last, text=last.text + atom.text, end=max(last.end, atom.end))
            else:
                found.append(atom)
    return found


def _shared_out(text: str, start: float, end: float, speaker: str | None, whole: int = 0) -> Iterator[Atom]:
    """Atoms of `text`, each with a share of its time by length; times that are no numbers count as 0."""
    parts = wrapping.pieces(text, whole=whole)
    total = sum(len(part) for _, part in parts)
    first = start if math.isfinite(start) else 0.0
    length = max(0.0, end - first) if math.isfinite(end) else 0.0
    done = 0
    for spaced, part in parts:
        begin = first + length * done / total
        done += len(part)
        yield Atom(part, begin, first + length * done / total, spaced, speaker)


def _sentences(atoms: Sequence[Atom]) -> Iterator[Phrase]:
    begin = 0
    for index in range(1, len(atoms) + 1):
        if index == len(atoms) or _parted(atoms[index - 1], atoms[index]):
            yield Phrase(tuple(atoms[begin:index]), measured=True)
            begin = index


def _parted(atom: Atom, following: Atom) -> bool:
    return (
        atom.speaker != following.speaker
        or following.start - atom.end >= PAUSE_SECONDS
        or ends_sentence(atom, following)
    )
