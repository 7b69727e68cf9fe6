"""OpenAI's chat wire: messages and settings as a request, the documents of its stream as steps.

Sources: contracts/upstreams.md (OpenAI's errors), llama-server's README (`/v1/chat/completions`), vLLM's and SGLang's
OpenAI-compatible servers for the keys named here.
"""

import base64
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from openproxy.audio import RATE
from openproxy.engine.models.chat import HOTTEST, Ask, Clip, Delta, Finish, Message
from openproxy.errors import BadRequest
from openproxy.transcript import Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FULL_SCALE = 32768
_PCM, _FLOAT = 1, 3


def messages(document: Sequence[Message], *, lossless: bool) -> list[dict[str, Any]]:
    """The `messages` of a request; audio as WAV in base64, see `wav`."""
    return [
        {"role": message.role, "content": _content(message, lossless=lossless), **message.more} for message in document
    ]


def _content(message: Message, *, lossless: bool) -> Any:
    parts = message.content
    if not parts and message.more:
        return None
    if all(isinstance(part, str) for part in parts):
        return parts[0] if len(parts) == 1 else [_text(part) for part in parts] if parts else ""
    return [_text(part) if isinstance(part, str) else _audio(part, lossless=lossless) for part in parts]


def _text(part: Any) -> dict[str, Any]:
    return {"type": "text", "text": part}


def _audio(clip: Clip, *, lossless: bool) -> dict[str, Any]:
    data = base64.b64encode(wav(clip.samples, lossless=lossless)).decode()
    return {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}


def wav(samples: "NDArray[np.float32]", *, lossless: bool) -> bytes:
    """A WAV file of (samples,) at 16 kHz: float32 where `lossless`, else 16 bit, which every server reads."""
    if lossless:
        data, kind, width = samples.astype("<f4").tobytes(), _FLOAT, 4
    else:
        whole = np.clip(np.rint(samples.astype(np.float64) * _FULL_SCALE), -_FULL_SCALE, _FULL_SCALE - 1)
        data, kind, width = whole.astype("<i2").tobytes(), _PCM, 2
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, kind, 1, RATE, RATE * width, width, 8 * width)
    body = b"WAVE" + form + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(body)) + body


def sampling(ask: Ask) -> dict[str, Any]:
    """The settings that were given, under llama-server's names; vLLM and SGLang know those of them that they have."""
    named = {
        "temperature": None if ask.temperature is None else min(ask.temperature, HOTTEST),
        "top_k": ask.top_k,
        "top_p": ask.top_p,
        "min_p": ask.min_p,
        "seed": ask.seed,
        "max_tokens": ask.limit,
        "stop": list(ask.stop) or None,
        "grammar": ask.grammar or None,
        "samplers": list(ask.samplers) if isinstance(ask.samplers, tuple) else ask.samplers,
        "reasoning_format": ask.reasoning_format,
        "reasoning_effort": ask.reasoning_effort,
    }
    return {**ask.more, **{name: value for name, value in named.items() if value is not None}}


class Answer:
    """One answer as it arrives: `read` each document of the stream, then `finish`."""

    def __init__(self) -> None:
        self.complete = False
        """Whether the server said that the answer is at its end."""
        self._reason: Literal["stop", "length", "tool_calls"] = "stop"
        self._stop: str | None = None
        self._usage = Usage()
        self._deltas = 0
        self._half = ""

    def read(self, document: Mapping[str, Any]) -> Iterator[Delta]:
        """What a document adds to the answer. One with `message` in place of `delta` is a whole answer."""
        if isinstance(usage := document.get("usage"), dict):
            self._usage = _usage(usage)
        choices = document.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and not choice.get("index"):
                yield from self._choice(choice)
                self._note_stop(choice, document)

    def end(self) -> None:
        """The stream has come to its end mark. Some servers write no `finish_reason` before it (vllm-mlx, LiteLLM, ...).

        Of an answer that has not begun the mark says nothing.
        """
        self.complete = self.complete or self._deltas > 0 or self._usage.output_tokens is not None

    def finish(self, *, stop: str | None = None) -> Finish:
        """How it ended; `stop` is the stop string that its reader found."""
        usage = self._usage
        if usage.output_tokens is None:
            usage = Usage(output_tokens=self._deltas)
        return Finish(self._reason, usage, stop or self._stop)

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[Delta]:
        piece = choice.get("delta") or choice.get("message")
        if isinstance(piece, dict):
            calls = piece.get("tool_calls")
            delta = Delta(
                self._whole(_content_text(piece.get("content"))),
                _string(piece.get("reasoning_content")) or _string(piece.get("reasoning")),
                tuple(call for call in calls if isinstance(call, dict)) if isinstance(calls, list) else (),
            )
            if delta != Delta():
                self._deltas += 1
                yield delta
        reason = choice.get("finish_reason")
        if isinstance(reason, str):
            self.complete = True
            self._reason = reason if reason in ("length", "tool_calls") else "stop"  # type: ignore[assignment]

    def _note_stop(self, choice: Mapping[str, Any], document: Mapping[str, Any]) -> None:
        """Which stop string it was, as vLLM, SGLang and, asked with `verbose`, llama-server say."""
        verbose = document.get("__verbose", choice.get("__verbose"))
        stopping = verbose.get("stopping_word") if isinstance(verbose, dict) else None
        for told in (choice.get("stop_reason"), choice.get("matched_stop"), stopping):
            self._stop = told if isinstance(told, str) and told else self._stop

    def _whole(self, text: str) -> str:
        """`text` with what came before it of a character; half a surrogate pair waits for its other half."""
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")


def _content_text(content: object) -> str:
    """A text, or the texts of parts in their order, as Mistral's server answers."""
    if isinstance(content, list):
        return "".join(_string(part.get("text")) for part in content if isinstance(part, dict))
    return _string(content)


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _usage(counts: Mapping[str, Any]) -> Usage:
    """OpenAI's usage object. Text tokens are what is left of the input beside the audio."""
    read, written = _count(counts, "prompt_tokens"), _count(counts, "completion_tokens")
    details = counts.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    audio = _count(details, "audio_tokens")
    return Usage(
        input_tokens=read,
        output_tokens=written,
        audio_tokens=audio,
        text_tokens=read - audio if read is not None and audio is not None else None,
        cached_tokens=_count(details, "cached_tokens") or 0,
    )


def _count(counts: Mapping[str, Any], name: str) -> int | None:
    value = counts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def refuse(ask: Ask, backend: str, *, grammar: bool, samplers: bool, more: bool) -> None:
    """Raise BadRequest for a setting that a backend does not have, naming it (contracts/engine.md, decision 12)."""
    missing = [
        name
        for name, given, known in (
            ("grammar", bool(ask.grammar), grammar),
            ("samplers", ask.samplers is not None, samplers),
            *((name, True, more) for name in ask.more),
        )
        if given and not known
    ]
    if missing:
        raise BadRequest(f"{missing[0]} is not available with {backend}", param=missing[0])
