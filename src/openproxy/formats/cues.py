"""A Transcript -> cues that can be read: two lines, about seven seconds, one after the other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from openproxy.formats import phrases, wrapping
from openproxy.formats.phrases import Atom, Phrase
from openproxy.transcript import Transcript

MAX_SECONDS = 7.0
"""A cue is not shown longer, unless it is one single word."""

_READABLE_MS = 700
"""So long a cue stays when the next one begins too early; or as long as it is spoken, if that is less."""
_UNTIMED_MS = 500
"""How long a cue without any length is shown, if nothing follows."""
_NAME_CHARS = 30
_SHORT_CHARS = 21
"""A text of this length is not cut only because its segment is long and tells no words."""
_SENTENCE_BONUS = 0.25
_CLAUSE_BONUS = 0.15
_GAP_SECONDS = 0.25
_GAP_BONUS = 0.1


@dataclass(frozen=True, slots=True)
class Cue:
    """What is shown at one time."""

    start: int
    """Milliseconds from the beginning of the recording."""
    end: int
    """Milliseconds; after `start`, and not after the start of the next cue."""
    lines: tuple[str, ...]
    """One or two lines, none of them blank."""
    speaker: str | None
    """Who speaks; None where fewer than two speakers are known."""


def of(transcript: Transcript, *, labelled: bool = False) -> tuple[Cue, ...]:
    """The cues of a transcript; where `labelled`, a change of speaker is told at the beginning of the first line."""
    several = len(transcript.speakers) > 1
    found: list[tuple[float, float, tuple[str, ...], str | None]] = []
    speaking: str | None = None
    for phrase in phrases.of(transcript):
        speaker = _name(phrase.speaker) if several else None
        label = f"{speaker}:" if labelled and speaker and speaker != speaking else ""
        speaking = speaker
        for atoms, lines in _split(phrase, label):
            found.append((atoms[0].start, max(atom.end for atom in atoms), lines, speaker))
    return _in_order(found)


def milliseconds(seconds: float) -> int:
    """Whole milliseconds, never below 0."""
    return max(0, round(seconds * 1000))


def _name(speaker: str | None) -> str | None:
    name = wrapping.join(wrapping.pieces(speaker or "", whole=_NAME_CHARS))
    return (name if len(name) <= _NAME_CHARS else name[: _NAME_CHARS - 1].rstrip() + "…") or None


def _split(phrase: Phrase, label: str) -> list[tuple[Sequence[Atom], tuple[str, ...]]]:
    waiting: list[tuple[Sequence[Atom], str]] = [(phrase.atoms, label)]
    found: list[tuple[Sequence[Atom], tuple[str, ...]]] = []
    while waiting:
        atoms, label = waiting.pop()
        lines = wrapping.lines([(atom.spaced, atom.text) for atom in atoms], label)
        if lines is not None and (len(atoms) == 1 or not _too_long(atoms, phrase.measured)):
            found.append((atoms, lines))
            continue
        cut = _best_cut(atoms)
        waiting += [(atoms[cut:], ""), (atoms[:cut], label)]
    return found


def _too_long(atoms: Sequence[Atom], measured: bool) -> bool:
    if not measured and sum(len(atom.text) + atom.spaced for atom in atoms) <= _SHORT_CHARS:
        return False
    return atoms[-1].end - atoms[0].start > MAX_SECONDS


def _best_cut(atoms: Sequence[Atom]) -> int:
    """Where to cut so that the parts fill cues evenly, rather at punctuation and at pauses."""
    total = sum(len(atom.text) + atom.spaced for atom in atoms)
    seconds = atoms[-1].end - atoms[0].start
    full = wrapping.MAX_LINES * wrapping.LINE_CHARS
    parts = max(2, math.ceil(total / full), math.ceil(min(seconds / MAX_SECONDS, len(atoms))))
    target = (parts // 2) / parts
    done = 0
    best, best_cost = 1, math.inf
    for index in range(1, len(atoms)):
        before, after = atoms[index - 1], atoms[index]
        done += len(before.text) + before.spaced
        cost = abs(done / total - target)
        if phrases.ends_sentence(before, after):
            cost -= _SENTENCE_BONUS
        elif wrapping.ends_clause(before.text):
            cost -= _CLAUSE_BONUS
        if after.start - before.end >= _GAP_SECONDS:
            cost -= _GAP_BONUS
        if cost < best_cost:
            best, best_cost = index, cost
    return best


def _in_order(found: Sequence[tuple[float, float, tuple[str, ...], str | None]]) -> tuple[Cue, ...]:
    spans: list[tuple[int, int]] = []
    earliest = 0
    for begin, finish, _, _ in found:
        start = max(milliseconds(begin), earliest)
        spoken = milliseconds(finish) - milliseconds(begin)
        kept = min(max(spoken, 1), _READABLE_MS)
        end = max(milliseconds(finish), start + (kept if spoken > 0 else _UNTIMED_MS))
        spans.append((start, end))
        earliest = start + kept
    limits = [*(start for start, _ in spans), spans[-1][1]][1:] if spans else []
    return tuple(
        Cue(start, min(end, limit), lines, speaker)
        for (start, end), limit, (_, _, lines, speaker) in zip(spans, limits, found, strict=True)
    )
