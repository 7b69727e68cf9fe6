"""Transcript -> OpenAI's json, verbose_json and diarized_json (contracts/upstreams.md, D.1)."""

import json
import math
from collections.abc import Collection, Mapping
from typing import Any

from openproxy import languages
from openproxy.errors import FormatUnavailable
from openproxy.formats import phrases
from openproxy.transcript import Segment, Transcript, Usage, Word

UNKNOWN_SPEAKER = "unknown"
"""The label of a stretch without a speaker in a recording whose other speakers are known."""

UNKNOWN_LANGUAGE = "unknown"
"""What verbose_json says, which cannot do without the field, where the source tells no language."""


def dumps(value: Mapping[str, Any]) -> str:
    """Compact JSON with characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def plain(transcript: Transcript) -> dict[str, Any]:
    """The format `json`: text, and usage where it is known."""
    return {"text": transcript.text} | _usage(transcript.usage)


def verbose(transcript: Transcript, granularities: Collection[str]) -> dict[str, Any]:
    """The format `verbose_json` with words, segments or both.

    Numbers of Whisper's that the source does not tell are 0, as the types of OpenAI's clients demand a number.
    Raises FormatUnavailable where the times asked for are not there.
    """
    answer: dict[str, Any] = {
        "task": transcript.task,
        "language": _language(transcript),
        "duration": _duration(transcript),
        "text": transcript.text,
    }
    if "word" in granularities:
        if transcript.text and not transcript.words:
            raise _missing("verbose_json with the timestamp granularity 'word'", "the times of words")
        answer["words"] = [_word(word) for word in transcript.words]
    if "segment" in granularities:
        if not transcript.timed:
            raise _missing("verbose_json with the timestamp granularity 'segment'", "the times of segments")
        answer["segments"] = [_segment(segment, index) for index, segment in enumerate(segments(transcript))]
    seconds = transcript.usage.seconds if transcript.usage else None
    return answer | (_seconds_used(seconds) if seconds is not None else {})


def diarized(transcript: Transcript) -> dict[str, Any]:
    """The format `diarized_json`: who says what, when.

    Raises FormatUnavailable where no speaker is known.
    """
    return {
        "task": "transcribe",
        "duration": _duration(transcript),
        "text": transcript.text,
        "segments": [diarized_segment(segment, index) for index, segment in enumerate(turns(transcript))],
    } | _usage(transcript.usage)


def turns(transcript: Transcript) -> tuple[Segment, ...]:
    """The segments with their speakers; made of the words where only these tell who speaks.

    Raises FormatUnavailable where no speaker is known.
    """
    if transcript.text and not transcript.speakers:
        raise FormatUnavailable(
            "diarized_json needs to know who speaks, and this transcript does not tell any speaker",
            param="response_format",
        )
    found = segments(transcript)
    if any(segment.speaker for segment in found):
        return found
    return phrases.segments(transcript)


def diarized_segment(segment: Segment, index: int) -> dict[str, Any]:
    """One segment with its speaker: an element of diarized_json, and an event of a stream."""
    return {
        "type": "transcript.text.segment",
        "id": f"seg_{index}",
        "start": number(segment.start),
        "end": number(segment.end),
        "text": segment.text.strip(),
        "speaker": segment.speaker or UNKNOWN_SPEAKER,
    }


def tokens_used(usage: Usage | None) -> dict[str, Any] | None:
    """The usage object of models that count tokens; None where the tokens are not known."""
    if usage is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    parts = {"text_tokens": usage.text_tokens, "audio_tokens": usage.audio_tokens}
    details = {key: count for key, count in parts.items() if count is not None}
    return {
        "type": "tokens",
        "input_tokens": usage.input_tokens,
        **({"input_token_details": details} if details else {}),
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def number(value: float | None) -> float:
    """A time or a measure as a JSON number; 0 for what is not known or not finite. Times keep their milliseconds."""
    return round(float(value), 6) if value is not None and math.isfinite(value) else 0.0


def _usage(usage: Usage | None) -> dict[str, Any]:
    if usage is not None and usage.seconds is not None:
        return _seconds_used(usage.seconds)
    tokens = tokens_used(usage)
    return {} if tokens is None else {"usage": tokens}


def _seconds_used(seconds: float) -> dict[str, Any]:
    return {"usage": {"type": "duration", "seconds": number(seconds)}}


def _language(transcript: Transcript) -> str:
    if transcript.task == "translate":
        return "english"
    return languages.name(transcript.language) if transcript.language else UNKNOWN_LANGUAGE


def _duration(transcript: Transcript) -> float:
    if transcript.duration is not None:
        return number(transcript.duration)
    parts: tuple[Segment | Word, ...] = (*transcript.segments, *transcript.words)
    ends = [part.end for part in parts if math.isfinite(part.end)]
    billed = transcript.usage.seconds if transcript.usage else None
    return number(billed if billed is not None else max(ends, default=0.0))


def segments(transcript: Transcript) -> tuple[Segment, ...]:
    """The segments; made of the words where the source gives only these."""
    return transcript.segments or phrases.segments(transcript)


def _word(word: Word) -> dict[str, Any]:
    return {"word": word.text.strip(), "start": number(word.start), "end": number(word.end)}


def _segment(segment: Segment, index: int) -> dict[str, Any]:
    return {
        "id": index,
        "seek": segment.seek,
        "start": number(segment.start),
        "end": number(segment.end),
        "text": segment.text,
        "tokens": list(segment.tokens),
        "temperature": number(segment.temperature),
        "avg_logprob": number(segment.avg_logprob),
        "compression_ratio": number(segment.compression_ratio),
        "no_speech_prob": number(segment.no_speech_prob),
    }


def _missing(form: str, what: str) -> FormatUnavailable:
    return FormatUnavailable(
        f"{form} needs {what}, and this transcript does not have them", param="timestamp_granularities[]"
    )
