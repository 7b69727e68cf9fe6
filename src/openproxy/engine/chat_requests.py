"""OpenAI's chat request: what its fields ask for, and why one cannot be served.

Sources: platform.openai.com/docs/api-reference/chat/create; llama-server's README for the fields that OpenAI does not
have (`n_predict`, `top_k`, `min_p`, `grammar`, `samplers`, `reasoning_format`); contracts/engine.md, decisions 2, 5 and 12.
"""

import base64
import binascii
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openproxy.engine.llama.fields import REASONING_FORMATS
from openproxy.engine.llama.json_syntax import syntax_error
from openproxy.engine.models.chat import DEEPEST_JSON, Ask, too_deep
from openproxy.engine.worker_messages import Turn
from openproxy.errors import BadRequest

_OBJECT, _LIST, _STRING, _TRUTH, _NUMBER = "an object", "an array", "a string", "true or false", "a number"
_TYPES: Mapping[str, Any] = {_OBJECT: dict, _LIST: list, _STRING: str, _TRUTH: bool, _NUMBER: int | float}

PASSED_ON = {
    "tools": (_LIST,),
    "tool_choice": (_STRING, _OBJECT),
    "parallel_tool_calls": (_TRUTH,),
    "response_format": (_OBJECT,),
    "presence_penalty": (_NUMBER,),
    "frequency_penalty": (_NUMBER,),
    "repeat_penalty": (_NUMBER,),
    "logit_bias": (_OBJECT, _LIST),
    "chat_template_kwargs": (_OBJECT,),
}
"""What only some backends know, the others refuse it by name -> what it may be."""
_WITHOUT_EFFECT = {
    "tools": [],
    "response_format": {"type": "text"},
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "logit_bias": {},
    "chat_template_kwargs": {},
}
"""Values that ask for nothing, so that no backend needs to know them."""
_MESSAGE_KEYS = {
    "name": (_STRING,),
    "tool_calls": (_LIST,),
    "tool_call_id": (_STRING,),
    "reasoning_content": (_STRING,),
}
_LIMITS = ("max_completion_tokens", "max_tokens", "n_predict")
"""In the order in which they count."""
_LARGEST = 2**31 - 1
_SLICE = 4 * 1024 * 1024
"""Characters of base64 that are decoded at once; a multiple of 4."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one request asks for."""

    turns: tuple[Turn, ...]
    ask: Ask
    stream: bool
    include_usage: bool
    """Whether a stream tells the usage in a chunk of its own."""


def read(body: bytes, defaults: Ask, *, max_recordings: int, max_bytes: int) -> Wanted:
    """Check every field that is known and leave the others alone; `defaults` gives what is not said.

    At most `max_recordings`, each of `max_bytes`. Raises BadRequest, its `param` naming the field.
    """
    fields = _fields(body)
    stream = _one_of(fields, "stream", _TRUTH) or False
    options = _one_of(fields, "stream_options", _OBJECT) or {}
    if fields.get("n") not in (None, 1):
        raise _wrong("n", "1, as one answer is made for a request")
    for name in ("logprobs", "top_logprobs"):
        if fields.get(name) not in (None, False, 0):
            raise BadRequest(f"{name} is not available", param=name, code="unsupported_parameter")
    turns = _turns(fields.get("messages"), max_bytes)
    recordings = sum(isinstance(part, bytes) for turn in turns for part in turn.content)
    if recordings > max_recordings:
        raise BadRequest(f"the messages hold {recordings} recordings, maximum is {max_recordings}", param="messages")
    return Wanted(turns, _ask(fields, defaults), stream, _one_of(options, "include_usage", _TRUTH) or False)


def _fields(body: bytes) -> dict[str, Any]:
    error = None
    try:
        fields = json.loads(body.decode("utf-8-sig"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        error = syntax_error(body) or "The JSON of the body is nested too deeply, or its numbers are too long"
    else:
        if b"\\u" in body:
            error = syntax_error(body)  # half of a surrogate pair
    if error is not None:
        raise BadRequest(error, code="invalid_json")
    if not isinstance(fields, dict):
        raise BadRequest("The body must be a JSON object", code="invalid_type")
    return fields


def _no_number(name: str) -> None:
    raise ValueError(name)


def _ask(fields: Mapping[str, Any], defaults: Ask) -> Ask:
    temperature = _number(fields, "temperature", 0, math.inf)
    limits = [limit for name in _LIMITS if (limit := _whole(fields, name, -1, _LARGEST)) is not None]
    reasoning_format = _one_of(fields, "reasoning_format", _STRING)
    if reasoning_format is not None and reasoning_format not in REASONING_FORMATS:
        raise _wrong("reasoning_format", f"one of {', '.join(REASONING_FORMATS)}")
    return Ask(
        temperature=defaults.temperature if temperature is None else temperature,
        top_k=_whole(fields, "top_k", -1, _LARGEST),
        top_p=_number(fields, "top_p", 0, 1),
        min_p=_number(fields, "min_p", 0, 1),
        seed=_whole(fields, "seed", -(2**63), 2**63 - 1),
        max_tokens=next((limit for limit in limits if limit >= 0), defaults.max_tokens),
        stop=_strings(fields, "stop"),
        grammar=_one_of(fields, "grammar", _STRING) or "",
        samplers=_samplers(fields),
        reasoning_format=reasoning_format,
        reasoning_effort=_one_of(fields, "reasoning_effort", _STRING),
        more={
            name: value
            for name, value in _known(fields, PASSED_ON).items()
            if not (name in _WITHOUT_EFFECT and value == _WITHOUT_EFFECT[name])
        },
    )


def _turns(messages: Any, max_bytes: int) -> tuple[Turn, ...]:
    if messages is None:
        raise BadRequest("Missing required field: messages", param="messages", code="missing_required_parameter")
    if not isinstance(messages, list) or not messages:
        raise _wrong("messages", "an array of at least one message")
    return tuple(_turn(message, f"messages[{at}]", max_bytes) for at, message in enumerate(messages))


def _turn(message: Any, where: str, max_bytes: int) -> Turn:
    if not isinstance(message, dict):
        raise _wrong(where, "an object")
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or not role:
        raise _wrong(f"{where}.role", "a string such as 'user'")
    more = _known(message, _MESSAGE_KEYS, f"{where}.")
    if content is None and not more.get("tool_calls"):
        raise _wrong(f"{where}.content", "a string or an array of parts")
    if isinstance(content, str):
        return Turn(role, (content,), more)
    if not isinstance(content, list | None):
        raise _wrong(f"{where}.content", "a string or an array of parts")
    parts = (_part(part, f"{where}.content[{at}]", max_bytes) for at, part in enumerate(content or ()))
    return Turn(role, tuple(parts), more)


def _part(part: Any, where: str, max_bytes: int) -> str | bytes:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text":
        if not isinstance(part.get("text"), str):
            raise _wrong(f"{where}.text", "a string")
        text: str = part["text"]
        return text
    if kind == "input_audio":
        return _recording(part.get("input_audio"), f"{where}.input_audio", max_bytes)
    raise _wrong(f"{where}.type", "'text' or 'input_audio'")


def _recording(audio: Any, where: str, max_bytes: int) -> bytes:
    """The bytes of a recording; its `format` is not needed, as the bytes tell it."""
    if not isinstance(audio, dict) or not isinstance(audio.get("data"), str):
        raise _wrong(f"{where}.data", "a string: the file in base64")
    if not isinstance(audio.get("format"), str | None):
        raise _wrong(f"{where}.format", "a string such as 'wav'")
    try:
        data = _decoded(audio["data"])
    except (binascii.Error, ValueError):
        raise _wrong(f"{where}.data", "the file in base64, and nothing before it") from None
    if len(data) > max_bytes:
        raise BadRequest(f"audio upload is {len(data)} bytes, maximum is {max_bytes} bytes", param=f"{where}.data")
    return data


def _decoded(text: str) -> bytes:
    """Base64 in slices, between which other threads have their turn. Raises ValueError for what is none."""
    if "=" in text[:-2]:
        raise ValueError("padding before the end")
    slices = (text[at : at + _SLICE] for at in range(0, len(text), _SLICE))
    return b"".join([base64.b64decode(piece, validate=True) for piece in slices])


def _strings(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    values = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(values, list) or not all(isinstance(text, str) for text in values):
        raise _wrong(name, "a string or an array of strings")
    return tuple(text for text in values if text)


def _samplers(fields: Mapping[str, Any]) -> str | tuple[str, ...] | None:
    value = fields.get("samplers")
    return value if value is None or isinstance(value, str) else _strings(fields, "samplers")


def _number(fields: Mapping[str, Any], name: str, least: float, most: float) -> float | None:
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        wanted = f"a number from {least:g} to {most:g}" if most < math.inf else f"a number not below {least:g}"
        raise _wrong(name, wanted)
    return min(float(value), 1e30) if isinstance(value, float) or value < 2**53 else 1e30


def _whole(fields: Mapping[str, Any], name: str, least: int, most: int) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _wrong(name, f"a whole number from {least} to {most}")
    return value


def _known(fields: Mapping[str, Any], known: Mapping[str, tuple[str, ...]], where: str = "") -> dict[str, Any]:
    """The fields of these names that say anything."""
    found = {name: _one_of(fields, name, *kinds, where=where) for name, kinds in known.items()}
    for name, value in found.items():
        if too_deep(value):
            raise _wrong(where + name, f"nested no deeper than {DEEPEST_JSON} levels")
    return {name: value for name, value in found.items() if value is not None}


def _one_of(fields: Mapping[str, Any], name: str, *kinds: str, where: str = "") -> Any:
    """A value of one of these kinds, None where there is none. To Python, true and false are numbers as well."""
    value = fields.get(name)
    if value is None or any(
        isinstance(value, _TYPES[kind]) for kind in kinds if (kind == _TRUTH) == isinstance(value, bool)
    ):
        return value
    raise _wrong(where + name, " or ".join(kinds))


def _wrong(param: str, wanted: str) -> BadRequest:
    return BadRequest(f"'{param}' must be {wanted}", param=param, code="invalid_value")
