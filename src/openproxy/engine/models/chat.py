"""What an audio chat model is: the `AudioChat` protocol, and the values that it takes and yields."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from openproxy.engine.models.chat_grammar import check_grammar, check_schemas
from openproxy.errors import AudioUnreadable, BadRequest
from openproxy.transcript import Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


HOTTEST = 1e4
"""Beyond this temperature every token is as likely as any other; keeps infinity out of JSON and arithmetic."""

NOT_A_NUMBER = "The model computes NaN for this input: its weights are damaged, or its number format is too small"
"""Said in place of an answer: of such scores the same token would be taken for ever."""

DEEPEST_JSON = 100
"""Objects and arrays within each other. What goes from process to process is walked by recursion on both sides."""


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """Audio in a message. Raises AudioUnreadable for what no model may be given (contracts/engine.md, decision 6)."""

    samples: "NDArray[np.float32]"
    """(samples,) mono, 16 kHz."""

    def __post_init__(self) -> None:
        if len(self.samples) < 2:
            raise AudioUnreadable("the audio holds no more than one sample", param="file", code="no_samples")
        if not (abs(self.samples) < float("inf")).all():
            raise AudioUnreadable(
                "the audio holds samples that are not finite numbers (NaN or infinity)",
                param="file",
                code="invalid_samples",
            )


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, shaped as OpenAI's. Raises BadRequest for text that is none: half of a character."""

    role: str
    """`system`, `user`, `assistant`, or what else the model's template knows."""
    content: tuple[str | Clip, ...]
    """Texts and audio in their order."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Its further keys, such as `tool_calls`, as they were sent."""

    def __post_init__(self) -> None:
        for part in self.content:
            if isinstance(part, str) and any("\ud800" <= character <= "\udfff" for character in part):
                raise BadRequest("a message holds half of a surrogate pair, which is no text", param="messages")


@dataclass(frozen=True, slots=True)
class Ask:
    """How an answer is to be made. None leaves it to the backend.

    Raises BadRequest for a grammar or a schema that would exhaust the stack or the memory of its parser, and the process
    with it.
    """

    temperature: float | None = None
    """0 takes the likeliest token each time."""
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    seed: int | None = None
    """Of sampling at a temperature above 0."""
    max_tokens: int | None = None
    """None or -1 is no limit, 0 counts as 1 (contracts/engine.md, section 4.1)."""
    stop: tuple[str, ...] = ()
    """Strings at which the answer ends; they are not part of it."""
    grammar: str = ""
    """GBNF; "" is none."""
    samplers: str | tuple[str, ...] | None = None
    """Letters or names of samplers, in order."""
    reasoning_format: str | None = None
    """llama-server's field: `none` leaves thinking in the text."""
    reasoning_effort: str | None = None
    """How much to think, in the model's own terms."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of an OpenAI chat request (`tools`, `response_format`, ...): sent on by what speaks that wire, refused else."""

    def __post_init__(self) -> None:
        check_grammar(self.grammar)
        check_schemas(self.more)

    @property
    def limit(self) -> int | None:
        """Tokens to sample at most: 1 or more."""
        return None if self.max_tokens is None or self.max_tokens < 0 else max(self.max_tokens, 1)


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of an answer."""

    text: str = ""
    """Of the answer itself; never half a character."""
    thinking: str = ""
    """Of what the model thinks before it, where the backend tells the two apart."""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    """Pieces of calls, as OpenAI's stream has them."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing yet: given now and then, so that whoever reads can leave."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of an answer, the last thing that is yielded."""

    reason: Literal["stop", "length", "tool_calls"]
    """`length` where a limit or the context ended it."""
    usage: Usage
    """Tokens as the backend counts them; None where it does not."""
    stop: str | None = None
    """The stop string that ended it."""


Step = Delta | Waiting | Finish


class AudioChat(Protocol):
    """A loaded chat model. Its methods may be called from several threads at once."""

    name: str
    """What the user called it."""
    takes_audio: bool | None
    """Whether messages may hold a Clip; None where only trying tells."""
    context: int | None
    """Tokens that one request and its answer may be together; None where it is not known."""
    template: str | None
    """Its chat template, where it can be read."""
    control_tokens: frozenset[str]
    """Texts that its vocabulary reads as control tokens, as far as they are known; see `broken_up`."""
    grammar: bool
    """Whether Ask.grammar is followed."""
    samplers: bool
    """Whether Ask.samplers is followed."""

    def stream(self, messages: Sequence[Message], ask: Ask) -> Iterator[Step]:
        """Answer: pieces as they are made, Finish last. Closing the iterator stops the work.

        Raises BadRequest for what this backend cannot do, ContextExceeded, NotSupported for audio given to a model of
        text, UpstreamError, Unavailable.
        """
        ...

    def close(self) -> None:
        """Give back memory, connections and processes."""
        ...


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """How a chat model is loaded, beyond what every model is told."""

    projector: Path | None = None
    """The GGUF of its audio encoder (`--mmproj`); None takes the one that lies beside it in a folder."""
    context: int | None = None
    """Tokens of one request with its answer; None is the model's own, as far as the backend goes by itself."""
    template: str | None = None
    """Chat template in place of the model's own."""
    window: float | None = None
    """Seconds of audio that one request carries at most; None is 30."""
    key: str | None = field(default=None, repr=False)
    """The key for a chat server at a URL."""


def too_deep(value: Any) -> bool:
    """Whether a value of JSON holds more than DEEPEST_JSON objects and arrays within each other."""
    layer = [value]
    for _ in range(DEEPEST_JSON + 1):
        layer = [
            child
            for parent in layer
            if isinstance(parent, dict | list)
            for child in (parent.values() if isinstance(parent, dict) else parent)
        ]
    return bool(layer)


_MARKUP = re.compile(
    r"<\|[^<>|\s]*\|?>?|</?s>|\[/?[A-Z_]{3,}\]|<(?:start|end)_of_(?:turn|audio|image)>|<(?:bos|eos|pad|unk)>"
)
"""How control tokens of the usual vocabularies look, for a vocabulary that is not known."""


def broken_up(text: str, tokens: Collection[str]) -> str:
    """`text` with a space in every control token, so that none opens or ends a turn (contracts/engine.md, decision 17).

    Without known `tokens`, in whatever looks like one.
    """
    if not tokens:
        return _MARKUP.sub(lambda match: _split(match[0]), text)
    for token in sorted(tokens, key=len, reverse=True):
        if len(token) > 1:
            text = text.replace(token, _split(token))
    return text


def _split(token: str) -> str:
    return f"{token[0]} {token[1:]}"
