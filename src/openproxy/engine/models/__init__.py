"""What a speech model is to the rest of the engine: the `Transcriber` protocol and the values that it takes and yields."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from openproxy.transcript import Segment, Transcript

if TYPE_CHECKING:
    from openproxy.audio import Audio

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
"""onnxruntime, which finds speech, reports its use to its maker unless this is set before it is imported."""


@dataclass(frozen=True, slots=True)
class Options:
    """How one recording is to be transcribed."""

    language: str | None = None
    """ISO 639-1 code of the speech, for a chat model any text that names it; None detects it."""
    prompt: str | None = None
    """Text that steers spelling and style."""
    temperature: float | None = None
    """Sampling temperature; None is the model's own default."""
    translate: bool = False
    """English text whatever is spoken."""
    word_timestamps: bool = False
    """Whether words with times are wanted."""
    vad: bool = True
    """Whether voice activity detection keeps silence and noise from the model."""
    max_tokens: int | None = None
    """Stop after this many text tokens; None or -1 is no limit, 0 counts as 1 (contracts/engine.md, 4.1)."""
    stop: tuple[str, ...] = ()
    """Strings at which the transcript ends; they are not part of it."""
    grammar: str = ""
    """GBNF grammar that the text follows; "" is none. Only where ModelFacts.grammar says so."""
    samplers: str | tuple[str, ...] | None = None
    """Letters or names of samplers in order; None is the model's own. Only where ModelFacts.samplers says so."""
    reasoning_format: str | None = None
    """`none` leaves thinking text in the transcript; anything else keeps it out (contracts/engine.md, section 4.3)."""
    reasoning_effort: str | None = None
    """How much a chat model is to think, in its own terms."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a loaded model is, for /v1/models and for checks ahead of the work."""

    name: str
    """What the user called it."""
    kind: Literal["whisper", "chat"]
    languages: tuple[str, ...]
    """ISO codes that it transcribes; `("en",)` for an English-only model."""
    translates: bool
    """Whether it can translate into English."""
    word_timestamps: bool = True
    """Whether it can give the times of words."""
    takes_audio: bool | None = True
    """Whether it transcribes at all; False for a chat model of text only, None where only trying tells."""
    grammar: bool = False
    """Whether decoding can follow a GBNF grammar."""
    samplers: bool = False
    """Whether the order of samplers can be chosen."""
    context: int | None = None
    """Tokens that prompt, audio and answer may be together; None where it is not known, or is no limit."""

    @property
    def multilingual(self) -> bool:
        """Whether it knows more than one language."""
        return len(self.languages) > 1


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the work has come."""

    seconds: float
    """Of the recording, done."""
    total: float | None
    """Length of the recording in seconds, None until it is known."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The next piece of a text without times, never empty: joined, the pieces are the text of the Transcript exactly."""

    text: str


Item = Segment | Piece | Progress | Transcript
"""What a transcription yields, the Transcript last. A model yields segments or pieces, never both."""


class Transcriber(Protocol):
    """A loaded speech model. Its methods may be called from several threads at once."""

    facts: ModelFacts

    def stream(self, audio: "Audio", options: Options) -> Iterator[Item]:
        """Transcribe: segments or pieces as soon as each exists, progress between them, the whole Transcript last.

        Closing the iterator stops the work. Raises AudioError for what cannot be decoded, BadRequest for what this
        model cannot do (language, translation).
        """
        ...
