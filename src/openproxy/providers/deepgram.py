"""Deepgram: raw audio with everything else in the query (contracts/gateway.md, section 3.4; upstreams.md, D.2)."""

import itertools
from typing import Any
from urllib.parse import urlencode

from openproxy import languages
from openproxy.media_types import upstream_type
from openproxy.providers import addresses, bodies, reading, timing
from openproxy.providers.exchange import SingleExchange
from openproxy.providers.reading import count, entries, member, seconds, text
from openproxy.providers.spelling import spelled
from openproxy.transcript import Segment, Transcript, Usage, Word
from openproxy.upload import Connection, TranscriptionRequest

_KEYTERM_MODELS = ("nova-3", "flux")
"""Models that take `keyterm`; the older ones take `keywords`."""
_SPELLINGS = ("punctuated_word", "word")


class Deepgram(SingleExchange):
    """The pre-recorded API."""

    label = "Deepgram"
    used = frozenset({"language", "deepgram_smart_format", "deepgram_punctuate", "keywords", "diarize"})

    def address(self, request: TranscriptionRequest, connection: Connection) -> str:
        """The listening endpoint, its parameters behind those of the connection's own address."""
        return addresses.with_query(addresses.resolve(self.entry, connection), urlencode(_parameters(request)))

    def body(self, request: TranscriptionRequest) -> bodies.Body:
        """The recording as it is."""
        return bodies.raw(request.audio, upstream_type(request.filename, request.content_type))

    def read(self, request: TranscriptionRequest, document: Any) -> Transcript:
        """Every channel of the answer; several are put in order of time."""
        told = entries(document, "results", "channels")
        firsts = _first_speakers(told)
        channels = [_Channel.read(channel, first) for channel, first in zip(told, firsts, strict=False)]
        spoken = [channel for channel in channels if channel.text]
        segments = _utterances(document, firsts, spoken) or tuple(
            part for channel in channels for part in channel.segments
        )
        duration = seconds(document, "metadata", "duration")
        detected = next((channel.language for channel in spoken or channels if channel.language), None)
        said = _joined(spoken)
        words = tuple(sorted((one for channel in channels for one in channel.words), key=lambda one: one.start))
        return Transcript(
            text=said,
            language=detected or reading.language(request.value("language")),
            duration=duration,
            segments=timing.held(segments, said, words),
            words=words,
            usage=None if duration is None else Usage(seconds=duration),
        )


def _parameters(request: TranscriptionRequest) -> list[tuple[str, str]]:
    """The query, in the order of section 3.4, then what decision 9 adds."""
    spoken = languages.for_upstream(request.value("language"), regions=True)
    wanted_format = request.value("response_format") if request.rendered else None
    parameters = [
        ("model", request.model),
        ("smart_format", request.value("deepgram_smart_format") or "true"),
        ("punctuate", request.value("deepgram_punctuate") or "true"),
        ("language", spoken) if spoken else ("detect_language", "true"),
    ]
    name = "keyterm" if request.model.startswith(_KEYTERM_MODELS) else "keywords"
    parameters += [(name, keyword) for keyword in request.values("keywords")]
    if request.says("diarize") or wanted_format == "diarized_json":
        parameters.append(("diarize_model", "latest"))
    if request.rendered:
        parameters.append(("utterances", "true"))
    return parameters


def _first_speakers(channels: list[Any]) -> list[int]:
    """The number of each channel's first speaker, where Deepgram counts those of every channel from 0."""
    words = [entries(member(channel, "alternatives", 0), "words") for channel in channels]
    sizes = [max((count(word, "speaker") or 0 for word in listed), default=-1) + 1 for listed in words]
    return [0, *itertools.accumulate(sizes[:-1])]


class _Channel:
    """One channel of the answer: its text, its words and the segments that they make."""

    def __init__(self, spoken: str, words: tuple[Word, ...], code: str | None):
        spelt = spelled(words, f" {spoken.strip()}")
        self.text = spoken
        self.words = spelt or words
        self.language = code
        self.whole = spelt is not None
        """Whether the words are all that is said in the text."""
        self.segments = timing.segments(spoken, words)

    @classmethod
    def read(cls, channel: Any, first_speaker: int) -> "_Channel":
        best = member(channel, "alternatives", 0)
        code = text(channel, "detected_language") or text(best, "languages", 0)
        words = timing.words(best, *_SPELLINGS, first_speaker=first_speaker)
        return cls(text(best, "transcript"), words, reading.language(code) if code else None)


def _utterances(document: Any, firsts: list[int], spoken: list[_Channel]) -> tuple[Segment, ...]:
    """Deepgram's own segments, where it was asked for them and they hold every channel's text."""
    listed: list[list[Any]] = [[] for _ in firsts]
    for one in entries(document, "results", "utterances"):
        listed[min(count(one, "channel") or 0, len(firsts) - 1)].append(one)
    found = tuple(
        part
        for first, told in zip(firsts, listed, strict=True)
        for part in timing.utterances(told, "transcript", *_SPELLINGS, first_speaker=first)
    )
    return found if timing.hold(found, " ".join(channel.text for channel in spoken)) else ()


def _joined(spoken: list[_Channel]) -> str:
    """One text of all channels: turn by turn where every word has its time, else channel by channel.

    A single channel's text stays as Deepgram wrote it.
    """
    if len(spoken) == 1:
        return spoken[0].text
    if all(channel.whole for channel in spoken):
        parts = sorted((part for channel in spoken for part in channel.segments), key=lambda part: part.start)
        return " ".join(part.text.strip() for part in parts)
    if all(channel.words for channel in spoken):
        spoken = sorted(spoken, key=lambda channel: channel.words[0].start)
    return " ".join(channel.text.strip() for channel in spoken)
