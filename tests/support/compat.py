"""The list of contract items in `compat/`, and what it says about a recorded request."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Literal

Shape = Literal["whisper", "chat"]
"""Which kind of model an engine serves."""

ROOT = Path(__file__).parents[2]
FILE = ROOT / "compat" / "llama-server-b10621.toml"


@cache
def manifest() -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads(FILE.read_text("utf-8"))


def named(record: str, entry: dict[str, Any]) -> bool:
    """Whether an entry is about a record."""
    return any(
        record.startswith(name[:-1]) if name.endswith("*") else record == name for name in entry.get("records", ())
    )


def of(shape: Shape, entry: dict[str, Any]) -> bool:
    """Whether an entry is about a shape; one that names none is about both."""
    return entry.get("shape", shape) == shape


def elsewhere(record: str, shape: Shape) -> bool:
    """Whether a record cannot be asked of a shape."""
    return any(named(record, entry) for entry in manifest()["elsewhere"] if of(shape, entry))


def divergence(record: str, shape: Shape) -> dict[str, Any] | None:
    """The answer that a record gets from a shape where it is another than the recorded one."""
    return next((item["answer"] for item in manifest()["item"] if of(shape, item) and named(record, item)), None)
