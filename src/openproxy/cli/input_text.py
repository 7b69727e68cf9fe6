"""Arguments that name their text in one of four ways: `-`, `@file`, an existing file, or the text itself."""

import json
import sys
from pathlib import Path
from typing import Any

from openproxy.cli.robot import CommandError

STDIN = "-"


def read(argument: str) -> str:
    """The text that `argument` means. Raises CommandError where a file cannot be read."""
    if argument == STDIN:
        return _decoded(sys.stdin.buffer.read(), "standard input")
    if argument.startswith("@"):
        return _file(Path(argument[1:]))
    return _file(Path(argument)) if _is_file(argument) else argument


def read_json(argument: str) -> Any:
    """The JSON document that `argument` means. Raises CommandError (validation) where it is none."""
    text = read(argument)
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise CommandError("validation", f"not JSON: {error}") from None


def read_object(argument: str) -> dict[str, Any]:
    """The JSON object that `argument` means. Raises CommandError (validation) where it is none."""
    document = read_json(argument)
    if not isinstance(document, dict):
        raise CommandError("validation", 'expected a JSON object, such as {"apiKey": "sk-..."}')
    return document


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _is_file(argument: str) -> bool:
    try:
        return Path(argument).is_file()
    except (OSError, ValueError):
        return False  # too long, or with a NUL: no name of a file


def _file(path: Path) -> str:
    try:
        return _decoded(path.read_bytes(), str(path))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        code = "not_found" if isinstance(error, FileNotFoundError) else "validation"
        raise CommandError(code, f"read input file {path}: {reason}") from None


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CommandError("validation", f"{name} is not UTF-8 text") from None
