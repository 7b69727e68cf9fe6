"""The one value everything turns on: every engine and every provider yields a Transcript, every output format is made from it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

Task = Literal["transcribe", "translate"]


@dataclass(frozen=True, slots=True)
class Word:
    """One spoken word with its place in the recording."""

    text: str
    """As it stands in the transcript, with the white space before it: joined, words give the text of their segment."""
    start: float
    """Seconds from the beginning of the recording."""
    end: float
    """Seconds; never before `start`."""
    probability: float | None = None
    """The model's confidence, 0 to 1."""
    speaker: str | None = None
    """Who speaks, where diarization says so."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of speech, usually a sentence or an utterance."""

    text: str
    """As it stands in the transcript, with the white space before it."""
    start: float
    """Seconds from the beginning of the recording."""
    end: float
    """Seconds; never before `start`."""
    words: tuple[Word, ...] = ()
    """Its words, empty where word times were not asked for or are not known."""
    speaker: str | None = None
    """Who speaks, where diarization says so."""
    seek: int = 0
    """Whisper: the frame (1/100 s) at which the window of this segment begins."""
    tokens: tuple[int, ...] = ()
    """Whisper: the token ids of the text."""
    temperature: float | None = None
    """Whisper: the sampling temperature that this segment was accepted at."""
    avg_logprob: float | None = None
    """Whisper: mean log probability of the tokens."""
    compression_ratio: float | None = None
    """Whisper: gzip ratio of the text; above 2.4 it repeats itself."""
    no_speech_prob: float | None = None
    """Whisper: probability that the window holds no speech."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a transcription cost, as far as its source counts it."""

    input_tokens: int | None = None
    """Prompt and audio tokens together."""
    output_tokens: int | None = None
    """Sampled text tokens."""
    text_tokens: int | None = None
    """The part of `input_tokens` that is text."""
    audio_tokens: int | None = None
    """The part of `input_tokens` that is audio."""
    cached_tokens: int = 0
    """The part of `input_tokens` that was reused from a cache."""
    seconds: float | None = None
    """Length of the audio that was billed or processed."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said, with all that its source told about it."""

    text: str
    """The whole text, without white space around it."""
    language: str | None = None
    """ISO 639-1 code (`en`), or the source's own code where there is none; of the recording, also when `task` is translate."""
    duration: float | None = None
    """Length of the recording in seconds."""
    segments: tuple[Segment, ...] = ()
    """In order of time. Empty for silence, or where the source gives no times."""
    words: tuple[Word, ...] = ()
    """All words with times, in order. Empty where word times were not asked for or are not known."""
    usage: Usage | None = None
    """What it cost."""
    task: Task = "transcribe"
    """Whether `text` is what was said or its English translation."""

    @property
    def timed(self) -> bool:
        """Whether it can be made into subtitles: it has segments or words, or says nothing at all."""
        return bool(self.segments or self.words) or not self.text

    @property
    def speakers(self) -> tuple[str, ...]:
        """The speakers in the order in which they first speak; empty where they are not known."""
        parts: tuple[Segment | Word, ...] = (*self.segments, *self.words)
        return tuple(dict.fromkeys(part.speaker for part in parts if part.speaker is not None))


def from_segments(
    segments: Iterable[Segment],
    *,
    language: str | None = None,
    duration: float | None = None,
    usage: Usage | None = None,
    task: Task = "transcribe",
) -> Transcript:
    """Join segments into a Transcript: their texts follow each other as they are, their words become its words."""
    parts = tuple(segments)
    return Transcript(
        text="".join(part.text for part in parts).strip(),
        language=language,
        duration=duration,
        segments=parts,
        words=tuple(word for part in parts for word in part.words),
        usage=usage,
        task=task,
    )


def whole(transcript: Transcript) -> Transcript:
    """The transcript as formats are made of it: no white space around its text, and where its source left the text
    out, that of its segments.
    """
    text = transcript.text.strip() or "".join(part.text for part in transcript.segments).strip()
    return transcript if text == transcript.text else replace(transcript, text=text)
