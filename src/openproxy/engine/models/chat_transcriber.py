"""Transcribing with an audio chat model: each window of a recording becomes a question, its answer a part of the transcript.

Source: contracts/engine.md, section 5, decisions 9, 10 and 17.
"""

import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, cast

from openproxy import languages
from openproxy.audio import RATE
from openproxy.engine.models import Item, ModelFacts, Options, Piece, Progress
from openproxy.engine.models.chat import Ask, AudioChat, Clip, Delta, Finish, Message, broken_up
from openproxy.engine.models.chat_text import Heading, StopAt, Thinking
from openproxy.engine.models.chat_windows import pause, windows
from openproxy.errors import BadRequest, ContextExceeded, NotSupported, UnknownLanguage
from openproxy.transcript import Transcript, Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openproxy.audio import Audio

WINDOW_SECONDS = 30.0
"""Audio of one question: what Whisper-type encoders hear at once."""
SHORTEST_WINDOW = 1.0
"""Seconds. What does not fit into the context is not divided further."""
PRESET = "Transcribe audio to text"
LFM2_MARKS = ("<|tool_list_start|>", "<|tool_list_end|>")
"""A chat template with both is of the LFM2 family (contracts/engine.md, section 5)."""
LFM2_SYSTEM = "Perform ASR."
_SIGN_SECONDS = 0.25
"""A sign of life is yielded after so long without text."""
_UNSPACED = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3000, 0x30FF),
    (0x3400, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF00, 0xFFEF),
    (0x20000, 0x3FFFF),
)
"""Scripts that are written without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""

_log = logging.getLogger(__name__)


class ChatTranscriber:
    """A Transcriber over an AudioChat, whose `chat` also answers other questions.

    `window` is the longest audio of one question in seconds: 1 at least, None for WINDOW_SECONDS.
    """

    def __init__(self, chat: AudioChat, *, window: float | None = None):
        self.chat = chat
        self._window = max(WINDOW_SECONDS if window is None else window, SHORTEST_WINDOW)
        self.facts = ModelFacts(
            name=chat.name,
            kind="chat",
            languages=(),
            translates=False,
            word_timestamps=False,
            takes_audio=chat.takes_audio,
            grammar=chat.grammar,
            samplers=chat.samplers,
            context=chat.context,
        )

    def stream(self, audio: "Audio", options: Options) -> Iterator[Item]:
        """Transcribe as Transcriber.stream says, in pieces as they are made.

        All audio reaches the model once and in order, silence as well. Longer recordings than the window are cut at
        pauses; a window that does not fit into the context is divided. Thinking and headings such as
        `language English<asr_text>` are left out.
        """
        if self.chat.takes_audio is False:
            raise NotSupported("The current model does not support audio input.")
        if options.translate:
            raise BadRequest(f"{self.facts.name} cannot translate")
        recording = _Recording(self.chat, options)
        samples = 0
        for window in windows(audio.blocks(), self._window):
            for piece in recording.hear(window):
                yield Progress(samples / RATE, audio.duration) if piece is None else piece
            samples += len(window)
            if recording.ended:
                samples = max(samples, round((audio.duration or 0.0) * RATE))
                break
            yield Progress(samples / RATE, audio.duration)
        yield recording.transcript(samples / RATE)


def question(chat: AudioChat, clip: Clip, options: Options) -> tuple[Message, ...]:
    """The messages that ask for the transcript of a clip (contracts/engine.md, section 5)."""
    lfm2 = chat.template is not None and all(mark in chat.template for mark in LFM2_MARKS)
    text = options.prompt or ("" if lfm2 else PRESET)
    if options.language:
        text += f" (language: {options.language})"
    text = broken_up(text, chat.control_tokens)
    user = Message("user", (text, clip) if text else (clip,))
    return (Message("system", (LFM2_SYSTEM,)), user) if lfm2 else (user,)


class _Recording:
    """The work on one recording: its text and cost so far, over all its windows."""

    def __init__(self, chat: AudioChat, options: Options):
        self._chat = chat
        self._options = options
        self._left = Ask(max_tokens=options.max_tokens).limit
        self._texts: list[str] = []
        self._usages: list[Usage] = []
        self._language: str | None = None
        self._joint = False
        self.ended = False
        """Whether a limit or a stop string completed the transcript."""

    def hear(self, samples: "NDArray[np.float32]", exceeded: int | None = None) -> Iterator[Piece | None]:
        """What is said in (samples,), in two parts where that is too much at once. None is a sign of life.

        `exceeded` is the number of tokens that were too many for a longer part.
        """
        try:
            yield from self._answer(samples)
        except ContextExceeded as error:
            useless = exceeded is not None and error.prompt_tokens >= exceeded
            if useless or len(samples) < 2 * SHORTEST_WINDOW * RATE:
                raise
            tokens = error.prompt_tokens
        else:
            return
        cut = pause(samples, len(samples) // 4, len(samples) * 3 // 4)
        for part in (samples[:cut], samples[cut:]):
            if not self.ended:
                yield from self.hear(part, tokens)

    def transcript(self, seconds: float) -> Transcript:
        """All of it, for a recording of so many seconds."""
        return Transcript(
            text="".join(self._texts),
            language=self._language,
            duration=seconds,
            usage=replace(_total(self._usages), seconds=seconds),
        )

    def _answer(self, samples: "NDArray[np.float32]") -> Iterator[Piece | None]:
        options = self._options
        thinking = None if options.reasoning_format == "none" else Thinking()
        heading, stop = Heading(), StopAt(options.stop)
        ask = Ask(
            temperature=0.0 if options.temperature is None else options.temperature,
            max_tokens=self._left,
            stop=options.stop,
            grammar=options.grammar,
            samplers=options.samplers,
            reasoning_format=options.reasoning_format,
            reasoning_effort=options.reasoning_effort,
        )
        self._joint = bool(self._texts)
        shown = monotonic()
        steps = self._chat.stream(question(self._chat, Clip(samples), options), ask)
        with closing(steps):  # type: ignore[type-var]
            for step in steps:
                piece = None
                if isinstance(step, Delta):
                    text = step.text if thinking is None else thinking.feed(step.text)
                    piece = self._piece(stop.feed(heading.feed(text)))
                elif isinstance(step, Finish):
                    self._finished(step)
                if piece is not None or monotonic() - shown > _SIGN_SECONDS:
                    shown = monotonic()
                    yield piece
        rest = heading.feed(thinking.end()) + heading.end() if thinking is not None else heading.end()
        rest = stop.feed(rest)
        piece = self._piece(rest if stop.found is not None else rest + stop.end())
        self.ended = self.ended or stop.found is not None
        self._language = self._language or _code(heading.language)
        if piece is not None:
            yield piece

    def _piece(self, text: str) -> Piece | None:
        """`text` as it goes on what is there already: one space between two windows, where their script has spaces."""
        if self._joint:
            text = text.lstrip()
        if not text:
            return None
        if self._joint:
            self._joint = False
            before = self._texts[-1][-1]
            if not (before.isspace() or (_unspaced(before) and _unspaced(text[0]))):
                text = " " + text
        self._texts.append(text)
        return Piece(text)

    def _finished(self, finish: Finish) -> None:
        self._usages.append(finish.usage)
        self.ended = finish.stop is not None
        if self._left is not None:
            self._left -= finish.usage.output_tokens or 0
            self.ended = self.ended or self._left <= 0
        elif finish.reason == "length":
            _log.warning("The model's context was full before it had written down all of the audio")


def _code(name: str | None) -> str | None:
    """The code of a language that a heading named; None for a name that is not known."""
    try:
        language = languages.normalise(name or "", None)
    except UnknownLanguage:
        return None
    return None if language is None else language.code


def _unspaced(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _UNSPACED)


def _total(usages: list[Usage]) -> Usage:
    """The sum; a count that one of them does not have is not known."""
    return Usage(
        input_tokens=_sum([usage.input_tokens for usage in usages]),
        output_tokens=_sum([usage.output_tokens for usage in usages]),
        text_tokens=_sum([usage.text_tokens for usage in usages]),
        audio_tokens=_sum([usage.audio_tokens for usage in usages]),
        cached_tokens=sum(usage.cached_tokens for usage in usages),
    )


def _sum(counts: list[int | None]) -> int | None:
    return None if None in counts else sum(cast("list[int]", counts))
