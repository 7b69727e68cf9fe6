"""Which request is let in and where it goes: keys, CORS and paths as llama-server reads them.

Source: contracts/engine.md, sections 1, 2 and 9.
"""

import hmac
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

PUBLIC = frozenset({"/health", "/v1/health", "/ready"})
"""Paths that need no key."""

TRANSCRIPTIONS = frozenset({"/v1/audio/transcriptions", "/audio/transcriptions"})

TRANSLATIONS = frozenset({"/v1/audio/translations", "/audio/translations"})


@dataclass(frozen=True, slots=True)
class Cors:
    """What browsers are told."""

    origins: str = "*"
    """`*` echoes the request's origin; anything else is sent as it is."""
    credentials: bool = True
    """Whether cookies and keys may be sent along."""

    def headers(self, origin: str | None) -> list[tuple[str, str]]:
        """Of every answer; the value is empty where the request names no origin."""
        return [("Access-Control-Allow-Origin", _header(origin or "") if self.origins == "*" else self.origins)]

    def preflight_headers(self, origin: str | None) -> list[tuple[str, str]]:
        """Of the answer to OPTIONS."""
        return [
            *self.headers(origin),
            ("Access-Control-Allow-Credentials", "true" if self.credentials else "false"),
            ("Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"),
            ("Access-Control-Allow-Headers", "*"),
        ]


def authorised(keys: Collection[str], authorization: str | None, x_api_key: str | None) -> bool:
    """Whether the headers carry one of the keys; True where there are no keys.

    `Bearer ` with exactly one space is taken off, `X-Api-Key` counts only where `Authorization` is absent or empty.
    The values are as an HTTP server decodes them, a character for each byte; a key beyond ASCII is sent as UTF-8.
    """
    if not keys:
        return True
    given = (authorization or "").strip(" \t") or (x_api_key or "").strip(" \t")
    sent = given.removeprefix("Bearer ").encode("latin-1", "replace")
    matches = [hmac.compare_digest(sent, key.encode("utf-8", "surrogateescape")) for key in keys]
    return any(matches)


def path_of(target: str | bytes, prefix: str = "") -> str | None:
    """The path that routes are looked up by: percent-decoded, without query, fragment and `prefix`.

    None where it does not begin with the prefix. It is matched exactly: case, slashes and all.
    """
    raw = target.encode("latin-1", "replace") if isinstance(target, str) else target
    path = unquote_to_bytes(raw.partition(b"#")[0].partition(b"?")[0]).decode("utf-8", "replace")
    if not path.startswith(prefix):
        return None
    return path[len(prefix) :]


def _header(value: str) -> str:
    """An origin is ASCII without controls; anything else is not echoed."""
    return value if value.isascii() and value.isprintable() else ""
