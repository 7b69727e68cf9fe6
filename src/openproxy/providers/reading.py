"""Reading a vendor's JSON without trusting its shape."""

import json
import math
import re
from typing import Any

from openproxy import languages
from openproxy.errors import UnknownLanguage, UpstreamError
from openproxy.providers import faults

LONGEST = 1e9
"""A time beyond this, in seconds or milliseconds, is no time in a recording."""
_OF_A_TRANSCRIPT = frozenset({"text", "segments", "chunks", "results", "candidates", "id", "status", "upload_url"})
"""Members of the answers that hold a transcript, or tell of the way to one."""
_WRITTEN = re.compile(r"\s*[+-]?[0-9]{1,15}(?:\.[0-9]{0,15})?\s*")
"""A number that a server has put into quotes."""


def document(body: bytes, label: str) -> Any:
    """The JSON document in `body`.

    Raises UpstreamError 502: `Failed parsing <label> response: ...` for anything else, and the upstream's message where
    the document holds an error and nothing of a transcript, as whisper.cpp's server answers with status 200.
    """
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        detail = error.args[0] if isinstance(error, json.JSONDecodeError) else "not JSON"
        raise UpstreamError(502, f"Failed parsing {label} response: {detail}") from None
    if isinstance(found, dict) and found.get("error") and not _OF_A_TRANSCRIPT & found.keys():
        raise UpstreamError(502, faults.message(502, "application/json", body))
    return found


def is_json(body: bytes) -> bool:
    """Whether `body` is a JSON document."""
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def is_object(body: bytes) -> bool:
    """Whether `body` is a JSON object: a transcript in plain text may well be a number, or stand in quotes."""
    return body.lstrip()[:1] == b"{" and is_json(body)


def member(value: Any, *path: str | int) -> Any:
    """What lies at `path`; None where a step is missing or of another kind."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def text(value: Any, *path: str | int) -> str:
    """The string at `path`; empty where there is none."""
    found = member(value, *path)
    return found if isinstance(found, str) else ""


def number(value: Any, *path: str | int) -> float | None:
    """The finite number at `path`, also where it is in quotes; None where there is none."""
    found = member(value, *path)
    if isinstance(found, str) and _WRITTEN.fullmatch(found):
        found = float(found)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        found = float(found)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def seconds(value: Any, *path: str | int) -> float | None:
    """The time at `path`; None where there is none, or none that a recording could have."""
    found = number(value, *path)
    return found if found is not None and 0 <= found <= LONGEST else None


def count(value: Any, *path: str | int) -> int | None:
    """The whole number, 0 or more, at `path`; None where there is none."""
    found = number(value, *path)
    return int(found) if found is not None and found >= 0 and found.is_integer() else None


def entries(value: Any, *path: str | int) -> list[Any]:
    """The list at `path`; empty where there is none."""
    found = member(value, *path)
    return found if isinstance(found, list) else []


def language(value: str | None) -> str | None:
    """ISO code of the language that a vendor names by code, tag or English name; its own word where it is unknown."""
    try:
        found = languages.normalise(value)
    except UnknownLanguage:
        return value
    return found.code if found else None
