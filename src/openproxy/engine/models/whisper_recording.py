"""One recording through a Whisper model, whatever runs it: speech found, stretches decoded, times restored, limits kept."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from faster_whisper.vad import VadOptions, get_speech_timestamps

from openproxy import languages
from openproxy.audio import RATE
from openproxy.engine.chunks import Span, SpeechMap, Stretch, stretches
from openproxy.engine.models import ModelFacts, Options, Progress
from openproxy.engine.models.ending import Ending
from openproxy.errors import AudioUnreadable, BadRequest
from openproxy.transcript import Segment, Transcript, Usage, Word, from_segments

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openproxy.audio import Audio

FALLBACK_TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""What temperature 0 means: a failed window is tried again, warmer (Radford et al. 2022, section 4.5)."""
HOTTEST = 1e4
"""Beyond this every token is as likely as any other; keeps infinity out of the arithmetic."""
PROMPT_CHARACTERS = 16_000
"""What of a prompt is made into tokens, from its end: many times what a model can take, and the work of no time."""
NO_SPEECH_THRESHOLD = 0.6
SHORT_SPEECH_SECONDS = 2.0
"""Speech below this fills so little of Whisper's 30 s that its guess at "no speech" is high for words too."""
SHORT_NO_SPEECH_THRESHOLD = 0.75
"""For short speech: above what words get (up to 0.72, tiny.en), below most tones and melodies (0.72 to 0.95)."""
FRAGMENT_SECONDS = 0.5
"""Speech below this may be a piece of a word, of which Whisper makes phrases that it has often heard: "Thank you."."""
LETTERS_PER_SECOND = 25.0
"""More than is said in a second: words at 260 a minute have up to 24, such phrases up to 170."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """How the speech of one stretch is to be decoded."""

    language: str | None
    """None detects it."""
    task: str
    """`transcribe` or `translate`."""
    temperatures: tuple[float, ...]
    """Tried in turn until a window succeeds."""
    no_speech_threshold: float
    prompt: str
    """What stands before the first window, without control tokens; "" is none."""
    word_timestamps: bool


class Decoder(Protocol):
    """A Whisper model that is at work on one recording."""

    frames: int
    """Encoder frames of a window."""
    first_special: int
    """Tokens from here on are no text."""

    def decode(self, speech: "NDArray[np.float32]", how: Decoding, prompts: list[int]) -> tuple[Iterable[Any], str]:
        """The segments in (samples,) as faster-whisper's Segment, as they are made, and their language.

        Appends the number of tokens before each window to `prompts`.
        """
        ...

    def text_of(self, tokens: list[int]) -> str:
        """Text tokens as text."""
        ...


def transcribed(
    decoder: Decoder, facts: ModelFacts, audio: "Audio", options: Options, *, longest: float
) -> Iterator[Segment | Progress | Transcript]:
    """Transcribe as Transcriber.stream says, in stretches of at most `longest` seconds.

    The prompt stands before the first window of each stretch. A detected language holds for the whole recording.
    """
    _check(facts, options)
    recording = _Recording(decoder, facts, options)
    find_speech: Callable[[NDArray[np.float32]], list[Span]] = _detected_speech if options.vad else _everything
    samples = 0
    for stretch in stretches(audio.blocks(), find_speech, longest=longest):
        samples = stretch.offset + len(stretch.samples)
        if samples < 2:
            break
        for segment, done in recording.segments(stretch):
            yield segment
            if done is not None:
                yield Progress(done, audio.duration)
        if recording.ended:
            samples = max(samples, round((audio.duration or 0.0) * RATE))
            break
        yield Progress(samples / RATE, audio.duration)
    if samples < 2:
        raise AudioUnreadable("the audio holds no more than one sample", param="file", code="no_samples")
    yield from recording.rest()
    yield recording.transcript(samples / RATE)


def _check(facts: ModelFacts, options: Options) -> None:
    """Refuse what this model cannot do. It may be called by a path of this machine, which no reply shows."""
    name, language = Path(facts.name).name, options.language
    if facts.multilingual:
        if language is not None and language not in facts.languages:
            raise BadRequest(f"{name} does not know {_named(language)}", param="language")
        return
    advice = "use a multilingual model, such as base or small (-m base)"
    if options.translate:
        raise BadRequest(f"{name} knows only English and cannot translate; {advice}")
    if language not in (None, "en"):
        raise BadRequest(f"{name} knows only English, not {_named(language)}; {advice}", param="language")


class _Recording:
    """The work on one recording: what is known of it so far, over all its stretches."""

    def __init__(self, decoder: Decoder, facts: ModelFacts, options: Options):
        self._decoder = decoder
        self._prompts: list[int] = []
        self._options = options
        self._language = options.language if facts.multilingual else "en"
        self._ending = Ending(
            options.max_tokens, options.stop, text_of=decoder.text_of, first_special=decoder.first_special
        )
        self._segments: list[Segment] = []
        self._spoken_until = 0.0

    @property
    def ended(self) -> bool:
        """Whether a limit or a stop string completed the transcript."""
        return self._ending.reached

    def segments(self, stretch: Stretch) -> Iterator[tuple[Segment, float | None]]:
        """The segments of a stretch as they are decoded, each with the seconds that are done where a window was."""
        if not stretch.spans:
            return
        raw_segments, self._language = self._decoder.decode(stretch.speech, self._decoding(stretch), self._prompts)
        places = SpeechMap(stretch.spans)
        most = self._most_letters(stretch)
        window = 0
        for raw in raw_segments:
            if not 0 < sum(map(str.isalnum, raw.text)) <= most:
                continue
            segment = _restored(raw, places, stretch.offset, self._spoken_until)
            self._spoken_until = segment.end
            done = segment.start if raw.seek != window else None
            window = raw.seek
            for part in self._ending.feed(segment):
                self._segments.append(part)
                yield part, done
            if self.ended:
                return

    def rest(self) -> Iterator[Segment]:
        """What waited for a stop string that did not come."""
        for segment in self._ending.flush():
            self._segments.append(segment)
            yield segment

    def transcript(self, seconds: float) -> Transcript:
        """All of it, for a recording of so many seconds."""
        text_tokens, audio_tokens = sum(self._prompts), len(self._prompts) * self._decoder.frames
        return from_segments(
            self._segments,
            language=self._language,
            duration=seconds,
            usage=Usage(
                input_tokens=text_tokens + audio_tokens,
                output_tokens=self._ending.tokens,
                text_tokens=text_tokens,
                audio_tokens=audio_tokens,
                seconds=seconds,
            ),
            task="translate" if self._options.translate else "transcribe",
        )

    def _most_letters(self, stretch: Stretch) -> float:
        """How many letters and digits a fragment can have been; a translation may be longer than what was said."""
        spoken = _seconds(stretch)
        return LETTERS_PER_SECOND * spoken if spoken < FRAGMENT_SECONDS and not self._options.translate else math.inf

    def _decoding(self, stretch: Stretch) -> Decoding:
        options = self._options
        short = options.vad and _seconds(stretch) < SHORT_SPEECH_SECONDS
        return Decoding(
            language=self._language,
            task="translate" if options.translate else "transcribe",
            temperatures=_temperatures(0.0 if options.temperature is None else options.temperature),
            no_speech_threshold=SHORT_NO_SPEECH_THRESHOLD if short else NO_SPEECH_THRESHOLD,
            prompt=_prompt(options.prompt),
            word_timestamps=options.word_timestamps,
        )


def _seconds(stretch: Stretch) -> float:
    """Of speech, with the silence around it."""
    return sum(end - start for start, end in stretch.spans) / RATE


def _prompt(text: str | None) -> str:
    """The prompt. What looks like a control token becomes plain text (contracts/engine.md, decision 17)."""
    return (text or "").strip()[-PROMPT_CHARACTERS:].replace("<|", "< |")


def _detected_speech(samples: "NDArray[np.float32]") -> list[Span]:
    """Where somebody speaks in (samples,), by the model and options of faster-whisper's `vad_filter`."""
    return [(span["start"], span["end"]) for span in get_speech_timestamps(samples, VadOptions())]


def _everything(samples: "NDArray[np.float32]") -> list[Span]:
    return [(0, len(samples))]


def _named(language: str) -> str:
    return languages.name(language).capitalize()


def _temperatures(temperature: float) -> tuple[float, ...]:
    if temperature <= 0:
        return FALLBACK_TEMPERATURES
    return (temperature if temperature < HOTTEST else HOTTEST,)


def _restored(raw: Any, places: SpeechMap, offset: int, after: float) -> Segment:
    """A segment of the joined speech, put where it is in the recording and not before `after` seconds."""
    shift = offset / RATE
    words: list[Word] = []
    at = after
    for word in raw.words or ():
        start, end = (_milliseconds(shift + time) for time in places.word(word.start, word.end))
        words.append(Word(word.word, max(start, at), max(end, start, at), float(word.probability)))
        at = words[-1].end
    start, end = (_milliseconds(shift + time) for time in places.segment(raw.start, raw.end))
    start = words[0].start if words else max(start, after)
    return Segment(
        text=raw.text,
        start=start,
        end=words[-1].end if words else max(end, start),
        words=tuple(words),
        seek=round((shift + places.moment(raw.seek / 100)) * 100),
        tokens=tuple(raw.tokens),
        temperature=raw.temperature,
        avg_logprob=raw.avg_logprob,
        compression_ratio=raw.compression_ratio,
        no_speech_prob=raw.no_speech_prob,
    )


def _milliseconds(time: float) -> float:
    """Whole milliseconds, never later than `time`: what lay inside the recording still does."""
    return math.floor(time * 1000 + 1e-6) / 1000
