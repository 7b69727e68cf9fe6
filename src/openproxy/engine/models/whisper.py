"""Whisper on this machine through faster-whisper: one loaded model, several recordings at once."""

import copy
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ctranslate2
from faster_whisper import WhisperModel
from faster_whisper.vad import VadOptions, get_speech_timestamps

from openproxy import languages
from openproxy.audio import RATE
from openproxy.engine.chunks import Span, SpeechMap, Stretch, stretches
from openproxy.engine.models import ModelFacts, Options, Progress
from openproxy.engine.models.ending import Ending
from openproxy.errors import AudioUnreadable, BadRequest, ModelUnusable
from openproxy.transcript import Segment, Transcript, Usage, Word, from_segments

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openproxy.audio import Audio

STRETCH_SECONDS = 180.0
"""Audio that is worked on at once: it bounds memory, and the wait for the first text of a long recording."""
BEAM_SIZE = 5
FALLBACK_TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""What temperature 0 means: a failed window is tried again, warmer (Radford et al. 2022, section 4.5)."""
HOTTEST = 1e4
"""Beyond this every token is as likely as any other; keeps infinity out of the arithmetic."""
PROMPT_TOKENS = 223
"""What of a prompt Whisper takes: half its context less the token that opens it."""
PROMPT_CHARACTERS = 16_000
"""What of a prompt is made into tokens, from its end: many times what PROMPT_TOKENS can hold, and the work of no time."""
NO_SPEECH_THRESHOLD = 0.6
SHORT_SPEECH_SECONDS = 2.0
"""Speech below this fills so little of Whisper's 30 s that its guess at "no speech" is high for words too."""
SHORT_NO_SPEECH_THRESHOLD = 0.75
"""For short speech: above what words get (up to 0.72, tiny.en), below most tones and melodies (0.72 to 0.95)."""


class WhisperTranscriber:
    """A Transcriber over a CTranslate2 Whisper folder.

    `parallel` recordings are decoded at the same time with `threads` threads each. `seed` makes sampling repeatable from
    the start of the process. Raises ModelUnusable for a folder that does not load.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str,
        threads: int = 1,
        parallel: int = 1,
        compute_type: str = "int8",
        device: str = "cpu",
        seed: int = 0,
    ):
        ctranslate2.set_random_seed(seed)
        try:
            self._model = WhisperModel(
                str(folder), device=device, compute_type=compute_type, cpu_threads=threads, num_workers=parallel
            )
        except Exception as error:  # CTranslate2 and the tokenizer raise anything for damaged files
            raise ModelUnusable(f"{name} does not load: {str(error).replace(str(folder), name)}") from error
        token_id = self._model.hf_tokenizer.token_to_id
        multilingual = self._model.model.is_multilingual
        known = [code for code in self._model.supported_languages if token_id(f"<|{code}|>") is not None]
        self.facts = ModelFacts(
            name=name,
            kind="whisper",
            languages=tuple(known) if multilingual else ("en",),
            translates=multilingual,
        )

    def stream(self, audio: "Audio", options: Options) -> Iterator[Segment | Progress | Transcript]:
        """Transcribe as Transcriber.stream says, in stretches of 3 minutes.

        The prompt stands before the first window of each stretch. A detected language holds for the whole recording.
        """
        self._check(options)
        recording = _Recording(self._model, options)
        find_speech = _detected_speech if options.vad else _everything
        samples = 0
        for stretch in stretches(audio.blocks(), find_speech, longest=STRETCH_SECONDS):
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

    def _check(self, options: Options) -> None:
        """Refuse what this model cannot do. It may be called by a path of this machine, which no reply shows."""
        name, language = Path(self.facts.name).name, options.language
        if self.facts.multilingual:
            if language is not None and language not in self.facts.languages:
                raise BadRequest(f"{name} does not know {_named(language)}", param="language")
            return
        advice = "use a multilingual model, such as base or small (-m base)"
        if options.translate:
            raise BadRequest(f"{name} knows only English and cannot translate; {advice}")
        if language not in (None, "en"):
            raise BadRequest(f"{name} knows only English, not {_named(language)}; {advice}", param="language")


class _Recording:
    """The work on one recording: what is known of it so far, over all its stretches."""

    def __init__(self, model: WhisperModel, options: Options):
        self._prompts: list[int] = []
        self._model = _counting(model, self._prompts)
        self._options = options
        self._language = options.language if model.model.is_multilingual else "en"
        self._first_special: int = model.hf_tokenizer.token_to_id("<|endoftext|>")
        self._ending = Ending(
            options.max_tokens, options.stop, text_of=model.hf_tokenizer.decode, first_special=self._first_special
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
        raw_segments, info = self._model.transcribe(stretch.speech, **self._settings(stretch))
        self._language = info.language
        places = SpeechMap(stretch.spans)
        window = 0
        for raw in raw_segments:
            if not any(map(str.isalnum, raw.text)):
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
        text_tokens, audio_tokens = sum(self._prompts), len(self._prompts) * self._frames
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

    @property
    def _frames(self) -> int:
        """Encoder frames of a window: 1500."""
        return int(self._model.feature_extractor.nb_max_frames // self._model.input_stride)

    def _settings(self, stretch: Stretch) -> dict[str, Any]:
        spoken = sum(end - start for start, end in stretch.spans) / RATE
        short = self._options.vad and spoken < SHORT_SPEECH_SECONDS
        temperature = self._options.temperature
        return {
            "language": self._language,
            "task": "translate" if self._options.translate else "transcribe",
            "beam_size": BEAM_SIZE,
            "temperature": _temperatures(0.0 if temperature is None else temperature),
            "no_speech_threshold": SHORT_NO_SPEECH_THRESHOLD if short else NO_SPEECH_THRESHOLD,
            "condition_on_previous_text": False,
            "initial_prompt": self._prompt(),
            "word_timestamps": self._options.word_timestamps,
        }

    def _prompt(self) -> list[int] | None:
        """The tokens of the prompt. What looks like a control token becomes plain text (contracts/engine.md, decision 17)."""
        text = (self._options.prompt or "").strip()[-PROMPT_CHARACTERS:].replace("<|", "< |")
        if not text:
            return None
        tokens: list[int] = self._model.hf_tokenizer.encode(f" {text}", add_special_tokens=False).ids
        return [token for token in tokens if token < self._first_special][-PROMPT_TOKENS:]


def _counting(model: WhisperModel, prompts: list[int]) -> WhisperModel:
    """The same loaded model, for one recording: appends the length of each window's prompt to `prompts`."""
    view = copy.copy(model)

    def generate(encoder_output: Any, prompt: list[int], *rest: Any) -> Any:
        prompts.append(len(prompt))
        return model.generate_with_fallback(encoder_output, prompt, *rest)

    view.generate_with_fallback = generate
    return view


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
