"""What a speech model is to the rest of the engine: the `Transcriber` protocol and the values that it takes and yields."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from openproxy.transcript import Segment, Transcript

if TYPE_CHECKING:
    from openproxy.audio import Audio


@dataclass(frozen=True, slots=True)
class Options:
    """How one recording is to be transcribed."""

    language: str | None = None
    """ISO 639-1 code of the speech; None detects it."""
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


class Transcriber(Protocol):
    """A loaded speech model. Its methods may be called from several threads at once."""

    facts: ModelFacts

    def stream(self, audio: "Audio", options: Options) -> Iterator[Segment | Progress | Transcript]:
        """Transcribe: segments as soon as each exists, progress between them, and the whole Transcript as the last item.

        Closing the iterator stops the work. Raises AudioError for what cannot be decoded, BadRequest for what this
        model cannot do (language, translation).
        """
        ...
