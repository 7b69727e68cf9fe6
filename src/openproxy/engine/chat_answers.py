"""OpenAI's chat completion: one object, or chunks, `[DONE]` last.

Source: platform.openai.com/docs/api-reference/chat/object and /chat/streaming.
"""

import time
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from openproxy.engine.llama.replies import JSON, Reply
from openproxy.engine.models.chat import Delta, Finish
from openproxy.transcript import Usage
from openproxy.web import sse


@dataclass(frozen=True, slots=True)
class Completion:
    """What all chunks of one answer have in common."""

    model: str
    """The loaded model's name."""
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, deltas: Iterable[Delta], finish: Finish) -> Reply:
        """The answer in one object."""
        pieces = list(deltas)
        message: dict[str, Any] = {"role": "assistant", "content": "".join(piece.text for piece in pieces)}
        if thinking := "".join(piece.thinking for piece in pieces):
            message["reasoning_content"] = thinking
        if calls := _joined(call for piece in pieces for call in piece.tool_calls):
            message["content"] = message["content"] or None
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish.reason}
        answer = {**self._head("chat.completion"), "choices": [choice], "usage": usage_object(finish.usage)}
        return Reply(200, sse.compact(answer), JSON)

    async def frames(
        self, first: Delta | Finish, rest: AsyncIterator[Delta | Finish], *, include_usage: bool
    ) -> AsyncIterator[bytes]:
        """The events of an answer whose first step has come. What `rest` raises passes through, without `[DONE]`."""
        usage = {"usage": None} if include_usage else {}
        yield self._chunk({"role": "assistant", "content": ""}, None, usage)
        step = first
        while True:
            if isinstance(step, Finish):
                yield self._chunk({}, step.reason, usage)
                break
            yield self._chunk(_delta(step), None, usage)
            step = await anext(rest)
        if include_usage:
            yield sse.frame({**self._head("chat.completion.chunk"), "choices": [], "usage": usage_object(step.usage)})
        yield sse.DONE

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _chunk(self, delta: Mapping[str, Any], reason: str | None, usage: Mapping[str, None]) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return sse.frame({**self._head("chat.completion.chunk"), "choices": [choice], **usage})


def usage_object(usage: Usage) -> dict[str, Any] | None:
    """Under OpenAI's names; None where the backend does not count."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    details = {"cached_tokens": usage.cached_tokens}
    if usage.audio_tokens is not None:
        details["audio_tokens"] = usage.audio_tokens
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": details,
    }


def _delta(step: Delta) -> dict[str, Any]:
    parts = {"content": step.text, "reasoning_content": step.thinking, "tool_calls": list(step.tool_calls)}
    return {name: value for name, value in parts.items() if value}


def _joined(pieces: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Whole calls from the pieces that a stream cuts them into: the arguments of one call follow each other."""
    calls: dict[int, dict[str, Any]] = {}
    for piece in pieces:
        at = piece.get("index")
        call = calls.setdefault(at if isinstance(at, int) else len(calls), {"type": "function", "function": {}})
        call.update({name: piece[name] for name in ("id", "type") if piece.get(name)})
        function = piece.get("function")
        if isinstance(function, Mapping):
            told = call["function"]
            told["name"] = f"{told.get('name', '')}{function.get('name') or ''}"
            told["arguments"] = f"{told.get('arguments', '')}{function.get('arguments') or ''}"
    return [calls[at] for at in sorted(calls)]
