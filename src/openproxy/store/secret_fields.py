"""Which parts of a connection's further settings are secrets, and how they are kept apart from the rest.

Secret is a value whose name says so at any depth (contracts/gateway.md, decision 18), and an address that carries a
user name, a password or such a query parameter.
"""

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

_NAME = re.compile(r"secret|token|key|password|passwd|passphrase|credential|authorization|cookie", re.IGNORECASE)

Path = tuple[str | int, ...]
"""The way to a value: names of objects and positions in lists."""


def is_secret(name: str, value: object) -> bool:
    """Whether the entry has to be sealed."""
    if value is None:
        return False
    return _NAME.search(name) is not None or (isinstance(value, str) and _secret_address(value))


def split(data: Mapping[str, Any]) -> tuple[dict[str, Any], dict[Path, Any]]:
    """The settings with None in the place of each secret, and the secrets by their paths."""
    secrets: dict[Path, Any] = {}
    public = {name: _without(name, value, (name,), secrets) for name, value in data.items()}
    return public, secrets


def join(public: Mapping[str, Any], secrets: Mapping[Path, Any]) -> dict[str, Any]:
    """The settings as they were before `split`; a secret whose place is gone or taken is left out."""
    whole: dict[str, Any] = json.loads(json.dumps(public))
    for path, value in secrets.items():
        holder = _holder(whole, path)
        if holder is not None and holder[path[-1]] is None:
            holder[path[-1]] = value
    return whole


def dumps(secrets: Mapping[Path, Any]) -> str | None:
    """The secrets as text to seal; None where there are none."""
    return json.dumps([[list(path), value] for path, value in secrets.items()]) if secrets else None


def loads(text: str) -> dict[Path, Any]:
    """The inverse of `dumps`."""
    return {tuple(path): value for path, value in json.loads(text)}


def _without(name: str, value: Any, path: Path, secrets: dict[Path, Any]) -> Any:
    if is_secret(name, value):
        secrets[path] = value
        return None
    if isinstance(value, Mapping):
        return {inner: _without(inner, item, (*path, inner), secrets) for inner, item in value.items()}
    if isinstance(value, list):
        return [_without("", item, (*path, place), secrets) for place, item in enumerate(value)]
    return value


def _holder(whole: Any, path: Path) -> Any:
    for step in path[:-1]:
        whole = _step(whole, step)
    found = isinstance(whole, dict) and path[-1] in whole
    found = found or (isinstance(whole, list) and isinstance(path[-1], int) and path[-1] < len(whole))
    return whole if found else None


def _step(whole: Any, step: str | int) -> Any:
    if isinstance(whole, dict):
        return whole.get(step)
    if isinstance(whole, list) and isinstance(step, int) and step < len(whole):
        return whole[step]
    return None


def _secret_address(value: str) -> bool:
    if "://" not in value:
        return False
    try:
        parts = urlsplit(value)
        return bool(parts.username or parts.password) or any(_NAME.search(name) for name, _ in parse_qsl(parts.query))
    except ValueError:
        return True  # not to be understood, so not to be trusted in the clear
