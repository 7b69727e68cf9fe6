"""What is asked of the OpenAI wire for a Transcript, and how its answers are read into one (contracts/upstreams.md, D.1)."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from openproxy import formats, media_types
from openproxy.providers import reading
from openproxy.providers.catalog import Entry
from openproxy.providers.reading import count, entries, language, member, number, seconds, speaker_letter, text
from openproxy.transcript import Segment, Transcript, Usage, Word
from openproxy.upload import Field, TranscriptionRequest

_TIMED = ("srt", "vtt", "verbose_json", "diarized_json")


def wanted(entry: Entry, request: TranscriptionRequest) -> tuple[Field, ...]:
    """The `response_format` that tells most about the recording, with word times where the format asked for needs them."""
    answer_format = _richest(entry, request)
    fields: list[Field] = [("response_format", answer_format)]
    if answer_format == "verbose_json" and request.task == "transcribe":
        fields += [("timestamp_granularities[]", value) for value in _granularities(request)]
    if answer_format == "diarized_json" and not request.value("chunking_strategy"):
        fields.append(("chunking_strategy", "auto"))
    return tuple(fields)


def _richest(entry: Entry, request: TranscriptionRequest) -> str:
    model = entry.model(request.model)
    if model is not None:
        served = model.formats
    elif "diarize" in request.model:
        served = ("json", "diarized_json")
    elif request.model.startswith("gpt-") or request.value("response_format") not in _TIMED:
        served = ("json",)
    else:
        served = ("json", "verbose_json")
    return next((name for name in ("verbose_json", "diarized_json") if name in served), "json")


def _granularities(request: TranscriptionRequest) -> tuple[str, ...]:
    asked = request.values("timestamp_granularities")
    words = formats.needs_words(request.value("response_format") or "json", asked)
    return ("word", "segment") if words else ()


def read(body: bytes, content_type: str | None, label: str, request: TranscriptionRequest) -> Transcript:
    """The Transcript in a json, verbose_json or diarized_json answer; a plain text answer is its text.

    Raises UpstreamError 502 for a body that is neither.
    """
    if media_types.bare(content_type or "") == "text/plain" and not reading.is_json(body):
        return Transcript(body.decode("utf-8", "replace").strip(), task=request.task)
    document = reading.document(body, label)
    words = reading.words(document, "word")
    segments = tuple(_segments(document, words))
    spoken = text(document, "language") or text(document, "languages", 0, "code") or request.value("language")
    if request.task == "translate":
        spoken = None  # what is named there is the language of the translation
    return Transcript(
        text=text(document, "text").strip(),
        language=language(spoken or None),
        duration=seconds(document, "duration"),
        segments=segments,
        words=tuple(part for one in segments for part in one.words) or words,
        usage=_usage(document),
        task=request.task,
    )


def _segments(document: Any, words: tuple[Word, ...]) -> Iterator[Segment]:
    """The segments, each with the words that begin in it."""
    given = [one for one in entries(document, "segments") if seconds(one, "start") is not None]
    starts = [seconds(one, "start") or 0.0 for one in given]
    own: list[list[Word]] = [[] for _ in given]
    for part in words if given else ():
        own[max(0, bisect_right(starts, part.start) - 1)].append(part)
    for one, start, spoken in zip(given, starts, own, strict=True):
        speaker, said = speaker_letter(member(one, "speaker")), text(one, "text")
        yield Segment(
            text=said if speaker is None else f" {said.strip()}",
            start=start,
            end=max(start, seconds(one, "end") or start),
            words=_spelled(spoken, said),
            speaker=speaker,
            seek=count(one, "seek") or 0,
            tokens=tuple(token for token in entries(one, "tokens") if isinstance(token, int)),
            temperature=number(one, "temperature"),
            avg_logprob=number(one, "avg_logprob"),
            compression_ratio=number(one, "compression_ratio"),
            no_speech_prob=number(one, "no_speech_prob"),
        )


def _spelled(words: Sequence[Word], said: str) -> tuple[Word, ...]:
    """The words as the segment's text spells them, with its punctuation, which OpenAI's word list leaves out."""
    spellings = said.split()
    same = len(spellings) == len(words) and all(
        _letters(spelling) == _letters(part.text) for spelling, part in zip(spellings, words, strict=True)
    )
    if not same:
        return tuple(words)
    return tuple(replace(part, text=f" {spelling}") for spelling, part in zip(spellings, words, strict=True))


def _letters(spelling: str) -> str:
    return "".join(character for character in spelling.casefold() if character.isalnum())


def _usage(document: Any) -> Usage | None:
    usage = member(document, "usage")
    if not isinstance(usage, dict):
        return None
    if text(usage, "type") == "duration":
        return Usage(seconds=seconds(usage, "seconds"))
    return Usage(
        input_tokens=count(usage, "input_tokens"),
        output_tokens=count(usage, "output_tokens"),
        text_tokens=count(usage, "input_token_details", "text_tokens"),
        audio_tokens=count(usage, "input_token_details", "audio_tokens"),
    )
