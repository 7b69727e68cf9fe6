"""Reading a vendor's JSON without trusting its shape, and what vendors' word lists have in common."""

import itertools
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from openproxy import languages
from openproxy.errors import UnknownLanguage, UpstreamError
from openproxy.transcript import Segment, Word

PAUSE = 0.8
"""Seconds of silence between two words that begin a new segment; Deepgram's own default for utterances."""
LONGEST = 1e9
"""A time beyond this, in seconds or milliseconds, is no time in a recording."""
_SENTENCE_END = (".", "?", "!", "…", "。", "？", "！")


def document(body: bytes, label: str) -> Any:
    """The JSON document in `body`. Raises UpstreamError 502 `Failed parsing <label> response: ...` for anything else."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        detail = error.args[0] if isinstance(error, json.JSONDecodeError) else "not JSON"
        raise UpstreamError(502, f"Failed parsing {label} response: {detail}") from None


def is_json(body: bytes) -> bool:
    """Whether `body` is a JSON document."""
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def member(value: Any, *path: str | int) -> Any:
    """What lies at `path`; None where a step is missing or of another kind."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def text(value: Any, *path: str | int) -> str:
    """The string at `path`; empty where there is none."""
    found = member(value, *path)
    return found if isinstance(found, str) else ""


def number(value: Any, *path: str | int) -> float | None:
    """The finite number at `path`; None where there is none."""
    found = member(value, *path)
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        return None
    return float(found)


def seconds(value: Any, *path: str | int) -> float | None:
    """The time at `path`; None where there is none, or none that a recording could have."""
    found = number(value, *path)
    return found if found is not None and 0 <= found <= LONGEST else None


def count(value: Any, *path: str | int) -> int | None:
    """The whole number, 0 or more, at `path`; None where there is none."""
    found = number(value, *path)
    return int(found) if found is not None and found >= 0 else None


def entries(value: Any, *path: str | int) -> list[Any]:
    """The list at `path`; empty where there is none."""
    found = member(value, *path)
    return found if isinstance(found, list) else []


def language(value: str | None) -> str | None:
    """ISO code of the language that a vendor names by code, tag or English name; its own word where it is unknown."""
    try:
        found = languages.normalise(value)
    except UnknownLanguage:
        return value
    return found.code if found else None


def words(holder: Any, *spellings: str, per_second: int = 1) -> tuple[Word, ...]:
    """The list `words` of `holder`, without entries that have no text or no time.

    `spellings` are the members that may hold a word's text, the best first; `per_second` is 1000 where times are
    milliseconds.
    """
    found: list[Word] = []
    for one in entries(holder, "words"):
        spoken = next((text(one, name).strip() for name in spellings if text(one, name).strip()), "")
        start, end = seconds(one, "start"), seconds(one, "end")
        if spoken and start is not None and end is not None:
            found.append(
                Word(
                    f" {spoken}",
                    start / per_second,
                    max(start, end) / per_second,
                    number(one, "confidence"),
                    speaker_letter(member(one, "speaker")),
                )
            )
    return tuple(found)


def utterances(listed: list[Any], said: str, *spellings: str, per_second: int = 1) -> tuple[Segment, ...]:
    """Segments that a vendor cut itself: the text of each is its member `said`; the rest as in `words`."""
    found: list[Segment] = []
    for one in listed:
        spoken, start, end = text(one, said).strip(), seconds(one, "start"), seconds(one, "end")
        if spoken and start is not None and end is not None:
            found.append(
                Segment(
                    f" {spoken}",
                    start / per_second,
                    max(start, end) / per_second,
                    words(one, *spellings, per_second=per_second),
                    speaker_letter(member(one, "speaker")),
                )
            )
    return tuple(found)


def speaker_letter(value: Any) -> str | None:
    """A speaker's number as the letter that OpenAI uses (0 -> `A`); a name stays as it is."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return chr(ord("A") + value) if value < 26 else f"S{value}"


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
