"""What is wrong with a body, in one sentence that names the field."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import PydanticCustomError

_TOLD = "openproxy"
_LABELS = {"name": "Name", "provider": "Provider", "apiKey": "API key", "password": "Password"}
"""Fields whose absence has a wording of its own (contracts/gateway.md, sections 1.5 and 1.7)."""
_BODY = "body"


def wrong(message: str) -> PydanticCustomError:
    """For a validator to raise: `message` is what the client reads."""
    return PydanticCustomError(_TOLD, "{told}", {"told": message})


def sentence(errors: Sequence[Mapping[str, Any]]) -> str:
    """The first of the errors that a validation found."""
    error = errors[0]
    if error["type"] == _TOLD:
        told: str = error["ctx"]["told"]
        return told
    place = tuple(error["loc"])
    where = place[1:]
    if not where:
        return "The body must be a JSON object" if place == (_BODY,) else "The request cannot be read"
    name = _written(where)
    value = error.get("input")
    absent = value is None and name in _LABELS
    if absent or error["type"] == "missing" or (isinstance(value, str) and not value.strip()):
        return f"{_LABELS.get(name, name)} is required"
    if error["type"] == "extra_forbidden":
        return f"There is no field {name} here"
    if error["type"] == "string_pattern_mismatch":
        return f"{_LABELS.get(name, name)} holds characters that it cannot have"
    if error["type"] in ("model_type", "model_attributes_type", "dict_type"):
        return f"{name} should be an object"
    # pydantic's words begin with a noun for the value: `Input should be a valid boolean`
    return f"{name} {error['msg'].partition(' ')[2]}"


def _written(where: Sequence[str | int]) -> str:
    """`extra.models[2]`."""
    written = ""
    for step in where:
        written += f"[{step}]" if isinstance(step, int) else f".{step}" if written else step
    return written
