"""The list of contract items in `compat/`, and what it says about a recorded request."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

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


def elsewhere(record: str) -> bool:
    """Whether a record cannot be asked of the Whisper shape."""
    return any(named(record, entry) for entry in manifest()["elsewhere"])


def divergence(record: str) -> dict[str, Any] | None:
    """The answer that a record gets here where it is another than the recorded one."""
    return next((item["answer"] for item in manifest()["item"] if named(record, item)), None)
