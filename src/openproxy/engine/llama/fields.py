"""What a form asks for: llama-server's order of checks and its table of fields, on the object of strings.

Source: contracts/engine.md, section 2 (steps 8 to 13) and section 4, decisions 5 and 12.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from openproxy.engine.llama.form import Form, Value
from openproxy.engine.llama.numbers import int32, stof, stoul
from openproxy.errors import BadRequest
from openproxy.upload import Upload

NUMERIC = (
    "sse_ping_interval",
    "n_predict",
    "max_completion_tokens",
    "max_tokens",
    "n_indent",
    "n_keep",
    "n_discard",
    "n_cmpl",
    "n",
    "n_cache_reuse",
    "t_max_predict_ms",
    "top_k",
    "top_p",
    "min_p",
    "top_n_sigma",
    "xtc_probability",
    "xtc_threshold",
    "typical_p",
    "dynatemp_range",
    "dynatemp_exponent",
    "repeat_last_n",
    "repeat_penalty",
    "frequency_penalty",
    "presence_penalty",
    "dry_multiplier",
    "dry_base",
    "dry_allowed_length",
    "dry_penalty_last_n",
    "mirostat",
    "mirostat_tau",
    "mirostat_eta",
    "adaptive_target",
    "adaptive_decay",
    "seed",
    "n_probs",
    "logprobs",
    "min_keep",
    "reasoning_budget_tokens",
)
"""In the order in which the first offending one is reported; `max_tokens`, read before as a text, has only its range left."""

BOOLEAN = (
    "verbose",
    "timings_per_token",
    "cache_prompt",
    "return_tokens",
    "return_progress",
    "backend_sampling",
    "post_sampling_probs",
    "parse_tool_calls",
    "echo",
    "reasoning_control",
    "ignore_eos",
)

REASONING_FORMATS = ("none", "auto", "deepseek", "deepseek-legacy")

_NOT_A_STRING = "[json.exception.type_error.302] type must be string, but is array"


@dataclass(frozen=True, slots=True)
class Abilities:
    """What the loaded model's backend can do beyond transcribing."""

    grammar: bool = False
    """Whether decoding can follow a GBNF grammar."""
    samplers: bool = False
    """Whether the order of samplers can be chosen."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One transcription as it was asked for, nothing defaulted that the model should decide."""

    file: Upload
    """The clip; owned by the form."""
    prompt: str = ""
    """As it was sent; "" is the model's own."""
    language: str = ""
    """As it was sent; "" says nothing."""
    stream: bool = False
    """Whether events are wanted."""
    max_tokens: int | None = None
    """None where it was not sent; -1 is the server's default, 0 still gives one token."""
    temperature: float | None = None
    """None where it was not sent; otherwise 0 or more, infinity included."""
    stop: tuple[str, ...] = ()
    """Strings at which the text ends."""
    model: str | None = None
    """Carried, and of no effect."""
    grammar: str = ""
    """A GBNF grammar; "" is none."""
    samplers: str | tuple[str, ...] | None = None
    """Letters or names of samplers in order; None is the server's own."""
    reasoning_format: str | None = None
    """One of REASONING_FORMATS, or None."""
    reasoning_effort: str | None = None
    """As it was sent, or None."""
    late: str | None = None
    """What is wrong with a field that is looked at only after the clip was decoded (section 2, step 13)."""

    def check_late(self) -> None:
        """Raise the late error, if there is one. To be called once the clip is known to be readable."""
        if self.late is not None:
            raise BadRequest(self.late)


def ask(form: Form, abilities: Abilities = Abilities()) -> Asked:
    """Read a form whose model is known to take audio. Raises BadRequest with the first error in llama-server's order."""
    if form.json_error is not None:
        raise BadRequest(form.json_error)
    if form.file is None:
        raise BadRequest("No input file found for transcription", param="file")
    fields = form.fields
    if _text(fields, "response_format", "json") != "json":
        raise BadRequest("Only 'json' response_format is supported for transcription", param="response_format")
    max_tokens = int32(stoul(_string(fields["max_tokens"]))) if "max_tokens" in fields else None
    temperature = _clamped(stof(_string(fields["temperature"]))) if "temperature" in fields else None
    _check_chat(fields)
    model = fields.get("model")
    return Asked(
        file=form.file,
        prompt=_text(fields, "prompt", ""),
        language=_text(fields, "language", ""),
        stream=fields.get("stream") == "true",
        max_tokens=max_tokens,
        temperature=temperature,
        stop=_stop(fields.get("stop")),
        model=model if isinstance(model, str) else None,
        grammar=_text(fields, "grammar", ""),
        samplers=_samplers(fields.get("samplers")),
        reasoning_format=_text(fields, "reasoning_format", "") or None,
        reasoning_effort=_text(fields, "reasoning_effort", "") or None,
        late=_late(fields, max_tokens, abilities),
    )


def _text(fields: Mapping[str, Value], name: str, default: str) -> str:
    """String or default: a repeated field counts as absent."""
    value = fields.get(name)
    return value if isinstance(value, str) else default


def _string(value: Value) -> str:
    if not isinstance(value, str):
        raise BadRequest(_NOT_A_STRING)
    return value


def _clamped(temperature: float) -> float:
    return math.inf if math.isnan(temperature) else max(temperature, 0.0) + 0.0


def _stop(value: Value | None) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value or []
    return tuple(text for text in values if text)


def _samplers(value: Value | None) -> str | tuple[str, ...] | None:
    return tuple(value) if isinstance(value, list) else value


def _check_chat(fields: Mapping[str, Value]) -> None:
    """Step 12: what parsing the fields as a chat request objects to."""
    if "tools" in fields:
        raise BadRequest(_tools_message(fields["tools"]), param="tools")
    if "reasoning_format" in fields and _string(fields["reasoning_format"]) not in REASONING_FORMATS:
        raise BadRequest(f"Unknown reasoning format: {fields['reasoning_format']}", param="reasoning_format")
    if fields.get("continue_final_message") in ("content", "reasoning_content"):
        raise BadRequest("Cannot set both add_generation_prompt and continue_final_message to true.")
    if "top_logprobs" in fields:
        raise BadRequest("top_logprobs requires logprobs to be set to true", param="top_logprobs")


def _tools_message(tools: Value) -> str:
    if isinstance(tools, str):
        shown = _dump(tools)
        return f"Failed to parse tools: Expected 'tools' to be an array, got {shown}; tools = {shown}"
    shown = json.dumps(tools, ensure_ascii=False, indent=2)
    return f"Failed to parse tools: [json.exception.type_error.304] cannot use at() with string; tools = {shown}"


def _late(fields: Mapping[str, Value], max_tokens: int | None, abilities: Abilities) -> str | None:
    """Steps 13 and 14: the schema of the sampling parameters, then what this backend cannot do."""
    for name in NUMERIC:
        if name == "max_tokens":
            if max_tokens is not None and max_tokens < -1:
                return f"Field 'max_tokens': Value must be between -1 <= value <= 2147483647, but got {max_tokens}"
        elif name in fields:
            return _wrong_type(name, "number", fields[name])
    for name in BOOLEAN:
        if name in fields:
            return _wrong_type(name, "boolean", fields[name])
    if "json_schema" in fields:
        reason = f"JSON schema conversion failed:\nUnrecognized schema: {_dump(fields['json_schema'])}"
        return f"Field 'json_schema': \"json_schema\": {reason}"
    if "lora" in fields:
        return "Field 'lora': Error: 'lora' must be an array of objects with 'id' and 'scale' fields"
    if isinstance(fields.get("dry_sequence_breakers"), str):
        return "Field 'dry_sequence_breakers': Error: dry_sequence_breakers must be a non-empty array of strings"
    if _text(fields, "grammar", "") and not abilities.grammar:
        return "Field 'grammar': not supported by the loaded model"
    if fields.get("samplers") and not abilities.samplers:
        return "Field 'samplers': not supported by the loaded model"
    return None


def _wrong_type(name: str, wanted: str, value: Value) -> str:
    found = "string" if isinstance(value, str) else "array"
    return f"Field '{name}': [json.exception.type_error.302] type must be {wanted}, but is {found}"


def _dump(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
