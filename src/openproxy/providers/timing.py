"""What vendors tell of when something was said: lists of words and of segments, and segments made of these."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from openproxy.providers.reading import LONGEST, count, entries, member, number, text
from openproxy.providers.spelling import spelled
from openproxy.transcript import Segment, Word

PAUSE = 0.8
"""Seconds of silence between two words that begin a new segment; Deepgram's own default for utterances."""
_ALL = 0.95
"""Share of a text's letters from which on segments hold all of it; the rest may be spelled otherwise there."""
_SENTENCE_END = (".", "?", "!", "…", "。", "？", "！")


def span(start: float | None, end: float | None) -> tuple[float, float] | None:
    """From when to when something is said; None where it has no beginning that a recording could have.

    What begins before the recording, as some aligners have it, begins with it; what has no end ends where it begins.
    """
    if start is None or start > LONGEST:
        return None
    if end is None or end > LONGEST:
        end = start
    return (max(0.0, start), max(0.0, start, end)) if max(start, end) >= 0 else None


def start_and_end(entry: Any) -> tuple[float | None, float | None]:
    """The members `start` and `end` of an entry."""
    return number(entry, "start"), number(entry, "end")


def words(holder: Any, *spellings: str, per_second: int = 1, first_speaker: int = 0) -> tuple[Word, ...]:
    """The list `words` of `holder` in order of time, without entries that have no text or no time.

    `spellings` are the members that may hold a word's text, the best first; `per_second` is 1000 where times are
    milliseconds; `first_speaker` is the number that the vendor's 0 stands for.
    """
    found: list[Word] = []
    for one in entries(holder, "words"):
        spoken = next((text(one, name).strip() for name in spellings if text(one, name).strip()), "")
        when = span(*start_and_end(one))
        if spoken and when is not None:
            found.append(
                Word(
                    f" {spoken}",
                    when[0] / per_second,
                    when[1] / per_second,
                    number(one, "confidence"),
                    speaker_letter(member(one, "speaker"), first_speaker),
                )
            )
    return tuple(sorted(found, key=lambda one: one.start))


@dataclass(frozen=True, slots=True)
class Stretch:
    """An entry of a vendor's list of segments, however it calls them."""

    entry: Any
    """All that the vendor tells about it."""
    text: str
    """As the vendor wrote it, never blank."""
    start: float
    """In the vendor's unit, as is `end`."""
    end: float


def stretches(
    listed: list[Any], said: str, times: Callable[[Any], tuple[float | None, float | None]] = start_and_end
) -> list[Stretch]:
    """The entries of `listed` that have a text, their member `said`, in order of time.

    The text of one without a time goes with the one before it, else with the first: it is not lost, and no time is
    made up.
    """
    found: list[Stretch] = []
    untimed = ""
    for one in listed:
        spoken, when = text(one, said), span(*times(one))
        if not spoken.strip():
            continue
        if when is not None:
            found.append(Stretch(one, f"{untimed} {spoken.strip()}" if untimed else spoken, *when))
            untimed = ""
        elif found:
            found[-1] = replace(found[-1], text=f"{found[-1].text.rstrip()} {spoken.strip()}")
        else:
            untimed = f"{untimed} {spoken.strip()}"
    return sorted(found, key=lambda one: one.start)


def utterances(
    listed: list[Any], said: str, *spellings: str, per_second: int = 1, first_speaker: int = 0
) -> tuple[Segment, ...]:
    """Segments that a vendor cut itself: the text of each is its member `said`; the rest as in `words`."""
    found: list[Segment] = []
    for one in stretches(listed, said):
        spoken = f" {one.text.strip()}"
        timed = words(one.entry, *spellings, per_second=per_second, first_speaker=first_speaker)
        found.append(
            Segment(
                spoken,
                one.start / per_second,
                one.end / per_second,
                spelled(timed, spoken) or timed,
                speaker_letter(member(one.entry, "speaker"), first_speaker),
            )
        )
    return tuple(found)


def hold(segments: Iterable[Segment], said: str) -> bool:
    """Whether segments hold all of the text `said`."""
    told = sum(character.isalnum() for part in segments for character in part.text)
    return told >= _ALL * sum(map(str.isalnum, said))


def speaker_letter(value: Any, first: int = 0) -> str | None:
    """A speaker's number, with `first` added, as the letter that OpenAI uses (0 -> `A`); a name stays as it is."""
    if isinstance(value, str):
        return value.strip() or None
    found = count(value)
    if found is None:
        return None
    found += first
    return chr(ord("A") + found) if found < 26 else f"S{found}"


def segment(timed: Sequence[Word], spoken: str | None = None) -> Segment:
    """The segment that the words `timed`, at least one, make up; `spoken` is its text where the vendor gives one."""
    return Segment(
        text=f" {spoken.strip()}" if spoken else "".join(part.text for part in timed),
        start=timed[0].start,
        end=max(part.end for part in timed),
        words=tuple(timed),
        speaker=timed[0].speaker,
    )


def sentences(timed: Iterable[Word]) -> tuple[Segment, ...]:
    """Words cut into segments: after the end of a sentence, at a pause, and where another speaker begins."""
    pieces: list[list[Word]] = []
    for before, current in itertools.pairwise([None, *timed]):
        if current is None:
            continue
        if (
            before is None
            or before.text.endswith(_SENTENCE_END)
            or current.start - before.end >= PAUSE
            or current.speaker != before.speaker
        ):
            pieces.append([])
        pieces[-1].append(current)
    return tuple(segment(piece) for piece in pieces)


def segments(said: str, timed: Sequence[Word]) -> tuple[Segment, ...]:
    """The text `said` cut into sentences by the times of its words; whole where these are not all of it.

    Empty where no word has a time.
    """
    if not timed:
        return ()
    if not said.strip():
        return sentences(timed)
    spelt = spelled(timed, f" {said.strip()}")
    return (segment(timed, said),) if spelt is None else sentences(spelt)


def held(found: Sequence[Segment], said: str, timed: Sequence[Word] = ()) -> tuple[Segment, ...]:
    """The segments `found`, in order of time, where they hold all of the text `said`.

    Else those that the times of its words make, which may be none: what needs times is refused then, rather than made
    without a part of the text.
    """
    if found and hold(found, said):
        return tuple(sorted(found, key=lambda part: part.start))
    return segments(said, timed)
