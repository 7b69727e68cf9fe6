"""Gemini: audio inside a generateContent request (contracts/gateway.md, section 3.7; upstreams.md, D.5)."""

from collections.abc import Iterable, Iterator
from typing import Any

from openproxy import formats, languages
from openproxy.media_types import upstream_type
from openproxy.providers import addresses, bodies
from openproxy.providers.exchange import SingleExchange
from openproxy.providers.reading import count, entries, language, member, number, text
from openproxy.providers.timing import held, segments, span, speaker_letter
from openproxy.transcript import Segment, Transcript, Usage, Word
from openproxy.upload import Connection, TranscriptionRequest

_INSTRUCTION = "Generate a transcript of the speech. Return only the transcribed text, no commentary."
_TIMED = (*formats.TIMED, "diarized_json")


class Gemini(SingleExchange):
    """Chat models that are told to transcribe, and the model made for it, which takes no instruction."""

    label = "Gemini"
    used = frozenset({"language", "prompt"})

    def uses(self, request: TranscriptionRequest) -> frozenset[str]:
        """The dedicated model takes a vocabulary in place of a prompt."""
        return frozenset({"language", "keywords", "diarize"}) if _dedicated(request) else self.used

    def address(self, request: TranscriptionRequest, connection: Connection) -> str:
        """The model's method below the base address."""
        base = addresses.resolve(self.entry, connection)
        return addresses.below(base, *addresses.model_segments(request.model), suffix=":generateContent")

    def body(self, request: TranscriptionRequest) -> bodies.Body:
        """Instruction and recording, the latter as base64 that is written while it is read."""
        mime_type = upstream_type(request.filename, request.content_type)

        def build(data: str) -> dict[str, Any]:
            audio = {"inline_data": {"mime_type": mime_type, "data": data}}
            if _dedicated(request):
                content: dict[str, Any] = {"contents": [{"parts": [audio]}]}
                settings = _transcription_settings(request)
                return content | ({"generationConfig": {"audioTranscriptionConfig": settings}} if settings else {})
            content = {"contents": [{"parts": [{"text": _instruction(request)}, audio]}]}
            if request.model.lower().startswith("gemini-3"):
                # these think at length unless told otherwise, and thinking is billed
                content["generationConfig"] = {"thinkingConfig": {"thinkingLevel": "low"}}
            return content

        return bodies.json_with_audio(build, request.audio)

    def read(self, request: TranscriptionRequest, document: Any) -> Transcript:
        """The text of every part; times, speakers and language where the dedicated model gives them."""
        parts = entries(document, "candidates", 0, "content", "parts")
        spoken = [member(part, "audioTranscription") for part in parts]
        spoken = [one for one in spoken if isinstance(one, dict)]
        usage = _usage(document)
        if not spoken:
            whole = "".join(text(part, "text") for part in parts if member(part, "thought") is not True)
            return Transcript(whole, language=language(request.value("language")), usage=usage)
        found = tuple(part for one in spoken for part in _segments(one))
        code = next((text(one, "languageCode") for one in spoken if text(one, "languageCode")), None)
        said, words = " ".join(_said(spoken)), tuple(one for part in found for one in part.words)
        return Transcript(
            text=said,
            language=language(code or request.value("language")),
            segments=held(found, said, words),
            words=tuple(sorted(words, key=lambda one: one.start)),
            usage=usage,
        )


def _dedicated(request: TranscriptionRequest) -> bool:
    return "transcribe" in request.model.lower()


def _instruction(request: TranscriptionRequest) -> str:
    instruction = request.value("prompt") or _INSTRUCTION
    spoken = languages.for_upstream(request.value("language"), regions=True)
    return f"{instruction} Language: {spoken}." if spoken else instruction


def _transcription_settings(request: TranscriptionRequest) -> dict[str, Any]:
    """`audioTranscriptionConfig`, as python-genai names its members."""
    settings: dict[str, Any] = {}
    spoken = languages.for_upstream(request.value("language"), regions=True)
    wanted = request.value("response_format") if request.rendered else None
    if spoken:
        settings["languageCodes"] = [spoken]
    if keywords := request.values("keywords"):
        settings["customVocabulary"] = list(keywords)
    if wanted in _TIMED:
        settings["wordTimestamp"] = True
    if wanted == "diarized_json" or request.says("diarize"):
        settings["diarization"] = True
    return settings


def _said(spoken: Iterable[Any]) -> Iterator[str]:
    return filter(None, (text(one, "text").strip() for one in spoken))


def _segments(spoken: Any) -> tuple[Segment, ...]:
    speaker = speaker_letter(member(spoken, "speakerLabel"))
    words = sorted(_words(spoken, speaker), key=lambda one: one.start)
    said, when = text(spoken, "text").strip(), _span(spoken)
    if words or not said or when is None:
        return segments(said, words)
    return (Segment(f" {said}", *when, speaker=speaker),)


def _words(spoken: Any, speaker: str | None) -> Iterator[Word]:
    for one in entries(spoken, "words"):
        said, when = text(one, "word").strip(), _span(one)
        if said and when is not None:
            yield Word(f" {said}", *when, None, speaker)


def _span(holder: Any) -> tuple[float, float] | None:
    return span(_seconds(holder, "startOffset"), _seconds(holder, "endOffset"))


def _seconds(holder: Any, name: str) -> float | None:
    """A protobuf duration (`1.250s`) in seconds; None where there is none."""
    return number(text(holder, name).removesuffix("s"))


def _usage(document: Any) -> Usage | None:
    counts = member(document, "usageMetadata")
    if not isinstance(counts, dict):
        return None
    by_kind = {text(one, "modality"): count(one, "tokenCount") for one in entries(counts, "promptTokensDetails")}
    return Usage(
        input_tokens=count(counts, "promptTokenCount"),
        # thinking is billed as output, and counted apart from it
        output_tokens=(count(counts, "candidatesTokenCount") or 0) + (count(counts, "thoughtsTokenCount") or 0),
        text_tokens=by_kind.get("TEXT"),
        audio_tokens=by_kind.get("AUDIO"),
        cached_tokens=count(counts, "cachedContentTokenCount") or 0,
    )
