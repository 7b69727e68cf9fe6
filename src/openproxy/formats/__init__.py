"""Output formats: a Transcript -> the body and content type that the client asked for, in OpenAI's shapes."""

from collections.abc import Collection
from dataclasses import dataclass

from openproxy.errors import BadRequest, FormatUnavailable
from openproxy.formats import events, json, subtitles
from openproxy.transcript import Transcript

__all__ = [
    "GRANULARITIES",
    "NAMES",
    "SEGMENTED",
    "SUBTITLES",
    "TIMED",
    "Rendered",
    "check",
    "check_granularities",
    "events",
    "extension",
    "needs_words",
    "render",
]

NAMES = ("json", "text", "srt", "verbose_json", "vtt", "diarized_json")
"""The values of `response_format` (contracts/upstreams.md, D.1)."""

GRANULARITIES = ("word", "segment")
"""The values of `timestamp_granularities[]`."""

SUBTITLES = ("srt", "vtt")
"""Formats that are made of a whole transcript: they cannot be streamed."""

TIMED = (*SUBTITLES, "verbose_json")
"""Formats that tell when something was said, whoever says it."""

SEGMENTED = ("verbose_json", "diarized_json")
"""Formats whose stream tells the segments too."""

_JSON = "application/json"
_PLAIN = "text/plain; charset=utf-8"
_VTT = "text/vtt; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A finished answer."""

    body: bytes
    """UTF-8."""
    content_type: str
    """With its charset where it is text."""


def check(name: str) -> None:
    """Raise FormatUnavailable, listing the allowed names, where `name` is not one of them."""
    if name not in NAMES:
        raise FormatUnavailable(
            f"Unknown response_format '{name[:40]}'; allowed are {', '.join(NAMES)}", param="response_format"
        )


def check_granularities(values: Collection[str]) -> None:
    """Raise BadRequest, listing the allowed values, where one of `values` is not a timestamp granularity."""
    for value in values:
        if value not in GRANULARITIES:
            raise BadRequest(
                f"Unknown timestamp granularity '{value[:40]}'; allowed are {', '.join(GRANULARITIES)}",
                param="timestamp_granularities[]",
            )


def needs_words(name: str, granularities: Collection[str] = ()) -> bool:
    """Whether a model should find the times of words: for subtitles, and for verbose_json with words."""
    return name in SUBTITLES or (name == "verbose_json" and "word" in granularities)


def extension(name: str) -> str:
    """The extension of a file that holds this format, with its dot."""
    return {"text": ".txt", "srt": ".srt", "vtt": ".vtt"}.get(name, ".json")


def render(transcript: Transcript, name: str, *, granularities: Collection[str] = ("segment",)) -> Rendered:
    """Make `transcript` into the format `name`; `granularities` are for verbose_json, none at all means `segment`.

    Raises FormatUnavailable where the name is not known, or where the format needs what the transcript has not:
    times, words, speakers. Silence can be made into every format.
    """
    check(name)
    check_granularities(granularities)
    match name:
        case "text":
            return Rendered(_encode(f"{transcript.text}\n" if transcript.text else ""), _PLAIN)
        case "srt":
            return Rendered(_encode(subtitles.srt(transcript)), _PLAIN)
        case "vtt":
            return Rendered(_encode(subtitles.vtt(transcript)), _VTT)
        case "verbose_json":
            return Rendered(_encode(json.dumps(json.verbose(transcript, granularities or ("segment",)))), _JSON)
        case "diarized_json":
            return Rendered(_encode(json.dumps(json.diarized(transcript))), _JSON)
        case _:
            return Rendered(_encode(json.dumps(json.plain(transcript))), _JSON)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")
