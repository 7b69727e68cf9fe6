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


def word(
    spoken: str,
    start: float | None,
    end: float | None,
    *,
    probability: float | None = None,
    speaker: str | None = None,
) -> Word | None:
    """A Word from what a vendor says about it; None where its time is missing."""
    spoken = spoken.strip()
    if not spoken or start is None or end is None or start < 0:
        return None
    return Word(f" {spoken}", start, max(start, end), probability, speaker)


def speaker_letter(value: Any) -> str | None:
    """A speaker's number as the letter that OpenAI uses (0 -> `A`); a name stays as it is."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return chr(ord("A") + value) if value < 26 else f"S{value}"


def segment(words: Sequence[Word], spoken: str | None = None) -> Segment:
    """The segment that `words`, at least one, make up; `spoken` is its text where the vendor gives one."""
    return Segment(
        text=f" {spoken.strip()}" if spoken else "".join(part.text for part in words),
        start=words[0].start,
        end=max(part.end for part in words),
        words=tuple(words),
        speaker=words[0].speaker,
    )


def sentences(words: Iterable[Word]) -> tuple[Segment, ...]:
    """Words cut into segments: after the end of a sentence, at a pause, and where another speaker begins."""
    pieces: list[list[Word]] = []
    for before, current in itertools.pairwise([None, *words]):
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
