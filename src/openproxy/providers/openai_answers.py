"""What is asked of the OpenAI wire for a Transcript, and how its answers are read into one (contracts/upstreams.md, D.1)."""

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from openproxy import formats, media_types
from openproxy.providers import reading, timing
from openproxy.providers.catalog import Entry
from openproxy.providers.reading import count, entries, language, member, number, seconds, text
from openproxy.providers.replies import plain
from openproxy.providers.spelling import spelled
from openproxy.providers.timing import Stretch, speaker_letter
from openproxy.transcript import Segment, Transcript, Usage, Word
from openproxy.upload import Field, TranscriptionRequest

_TIMED = (*formats.TIMED, "diarized_json")


def wanted(entry: Entry, request: TranscriptionRequest) -> tuple[Field, ...]:
    """The `response_format` that tells most about the recording, with word times where the format asked for needs them."""
    answer_format = _richest(entry, request)
    fields: list[Field] = [("response_format", answer_format)]
    if answer_format == "verbose_json" and request.task == "transcribe":
        fields += [("timestamp_granularities[]", value) for value in _granularities(request)]
    if answer_format == "diarized_json" and not any(plain(name) == "chunking_strategy" for name, _ in request.fields):
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
    if media_types.bare(content_type or "text/plain") == "text/plain" and not reading.is_object(body):
        return Transcript(body.decode("utf-8", "replace").strip(), task=request.task)
    document = reading.document(body, label)
    said, words = text(document, "text").strip(), timing.words(document, "word")
    segments = timing.held(tuple(_segments(document, words)), said, words)
    spoken = text(document, "language") or text(document, "languages", 0, "code") or request.value("language")
    if request.task == "translate":
        spoken = None  # what is named there is the language of the translation
    return Transcript(
        text=said,
        language=language(spoken or None),
        duration=seconds(document, "duration"),
        segments=segments,
        words=tuple(part for one in segments for part in one.words) or words,
        usage=_usage(document),
        task=request.task,
    )


def _segments(document: Any, words: tuple[Word, ...]) -> Iterator[Segment]:
    """The segments, each with its own words, or with those of the whole answer that lie in it."""
    given = timing.stretches(entries(document, "segments"), "text")
    for stretch, spoken in zip(given, _allotted(given, words), strict=True):
        one = stretch.entry
        speaker = speaker_letter(member(one, "speaker"))
        said = stretch.text if speaker is None else f" {stretch.text.strip()}"
        timed = timing.words(one, "word", "text") or spoken
        yield Segment(
            text=said,
            start=stretch.start,
            end=stretch.end,
            words=spelled(timed, said) or timed,
            speaker=speaker,
            seek=count(one, "seek") or 0,
            tokens=tuple(token for token in entries(one, "tokens") if type(token) is int),
            temperature=number(one, "temperature"),
            avg_logprob=number(one, "avg_logprob"),
            compression_ratio=number(one, "compression_ratio"),
            no_speech_prob=number(one, "no_speech_prob"),
        )


def _allotted(given: Sequence[Stretch], words: tuple[Word, ...]) -> list[tuple[Word, ...]]:
    """The words of each segment: by where they stand in the text, or by their times where they are not all of it."""
    spelt = spelled(words, "".join(one.text for one in given))
    if spelt is None:
        limits = [one.start for one in given[1:]]
        places = [part.start for part in words]
    else:
        words = spelt
        limits = [float(end) for end in itertools.accumulate(len(one.text) for one in given[:-1])]
        ends = itertools.accumulate(len(part.text) for part in words)
        places = [end - len(part.text.lstrip()) for end, part in zip(ends, words, strict=True)]
    found: list[list[Word]] = [[] for _ in given]
    for part, place in zip(words if given else (), places, strict=bool(given)):
        found[bisect_right(limits, place)].append(part)
    return [tuple(one) for one in found]


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
