"""The fields of a request beside its file: names as clients write them, one text value each (decision 9)."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from openproxy.errors import BadRequest, UploadTooLarge
from openproxy.upload import LIST_FIELDS, Field

MOST_BYTES = 16 * 1024 * 1024
"""Of all fields together, which are held in memory."""

_TEXTS = LIST_FIELDS | {
    "model",
    "language",
    "prompt",
    "response_format",
    "temperature",
    "stream",
    "chunking_strategy",
    "hotwords",
    "diarize",
    "deepgram_smart_format",
    "deepgram_punctuate",
}
"""The names that some provider reads (contracts/gateway.md, decision 9 and section 3.8)."""


def decoded(name: str, value: bytes) -> str:
    """The text of a form field. Raises BadRequest where a field that is read is not UTF-8."""
    try:
        return value.decode("utf-8").strip()
    except UnicodeDecodeError:
        if _plain(name) in _TEXTS:
            raise BadRequest(f"Non-UTF8 field: {_plain(name)}", param=_plain(name)) from None
        return value.decode("utf-8", "replace").strip()


def effective(fields: Iterable[Field]) -> tuple[Field, ...]:
    """The fields that count, in the order received: none that is blank, each single-valued one with its last value.

    (contracts/gateway.md, section 1.4.)
    """
    kept: dict[tuple[str, int], Field] = {}
    for number, (name, value) in enumerate(fields):
        several = _plain(name) in LIST_FIELDS
        place = (name, number if several else -1)
        # written again at its end, so that the order is that of the values which count
        kept.pop(place, None)
        if value:
            kept[place] = (name, value)
    return tuple(kept.values())


def from_json(name: str, value: Any) -> Iterator[Field]:
    """A member of a JSON body as form fields: null is absent, a list repeats the name, an object's keys are in brackets.

    Numbers take their shortest form (contracts/gateway.md, B8 to B10). Of a name that no provider reads only the name
    is told.
    """
    if value is None:
        return
    if _plain(name) not in _TEXTS:
        yield name, "unused"
    elif isinstance(value, list):
        for one in value:
            yield name, _spelled(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield f"{name}[{key}]", _spelled(one)
    else:
        yield name, _spelled(value)


def too_many() -> UploadTooLarge:
    """The error for fields that are longer than what is held in memory."""
    return UploadTooLarge(f"Body too large: the limit is {MOST_BYTES} bytes for all that is not the file")


def _spelled(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return json.dumps(value, separators=(",", ":"))


def _plain(name: str) -> str:
    return name.partition("[")[0]
