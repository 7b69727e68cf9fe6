"""How a credential is presented, in exactly one header, and how it is kept out of what a provider answers."""

import re
from collections.abc import Collection
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

from openproxy.errors import UpstreamError
from openproxy.logs import REDACTED
from openproxy.providers.addresses import host
from openproxy.providers.catalog import Entry
from openproxy.upload import Connection

_HEADERS: dict[str, tuple[str, str]] = {
    "bearer": ("Authorization", "Bearer "),
    "token": ("Authorization", "Token "),
    "key": ("Authorization", "Key "),
    "bare": ("Authorization", ""),
    "x-goog-api-key": ("x-goog-api-key", ""),
    "x-api-key": ("x-api-key", ""),
}
SCHEMES = tuple(_HEADERS)
"""The values of a connection's `authScheme` (contracts/gateway.md, decision 10)."""

_WHOLE_WORD_BELOW = 8
"""A secret shorter than this is taken out only where it stands as a word of its own: `local` stays in `localhost`."""

_UNMISTAKABLE = 16
"""Letters from which on a secret that holds a digit is no word of a transcript, nor a name in an answer's JSON."""


def header(entry: Entry, connection: Connection, url: str) -> dict[str, str]:
    """The one header that carries the connection's secret to `url`.

    Raises UpstreamError: 401 where the secret is blank or cannot stand in a header, 502 for an unknown `authScheme`.
    """
    secret = connection.secret.strip()
    if not secret or not secret.isprintable():
        raise UpstreamError(401, f"No credentials for STT provider: {entry.id}")
    scheme = (connection.auth_scheme or "").strip().lower()
    if not scheme:
        scheme = entry.vendor_scheme if host(url) in entry.vendor_hosts else entry.other_scheme
    if scheme not in _HEADERS:
        raise UpstreamError(502, f"Request failed: authScheme must be one of {', '.join(SCHEMES)}")
    name, prefix = _HEADERS[scheme]
    return {name: prefix + secret}


def redacted(text: str, connection: Connection) -> str:
    """`text` without the connection's secret and without what the query of its address may carry, however written."""
    for secret in sorted(_secrets(connection), key=len, reverse=True):
        if len(secret) < _WHOLE_WORD_BELOW:
            text = re.sub(rf"(?<![A-Za-z0-9_-]){re.escape(secret)}(?![A-Za-z0-9_-])", REDACTED, text)
        else:
            text = text.replace(secret, REDACTED)
    return text


class Redactor:
    """Takes the connection's secret out of an answer that succeeded, piece by piece as it arrives.

    Only a secret that nobody can say is taken out: an account of a server of one's own may have `transcribe` as its key.
    """

    def __init__(self, connection: Connection):
        self._secrets = [
            secret.encode()
            for secret in sorted(_secrets(connection), key=len, reverse=True)
            if len(secret) >= _UNMISTAKABLE and any(character.isdigit() for character in secret)
        ]
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """What can be given out; the end of it is kept where a secret may have begun."""
        text = self._held + piece
        for secret in self._secrets:
            text = text.replace(secret, REDACTED.encode())
        kept = _begun(text, self._secrets)
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept]

    def finish(self) -> bytes:
        """What is left at the end of the answer."""
        held, self._held = self._held, b""
        return held


def _begun(text: bytes, secrets: Collection[bytes]) -> int:
    """How many bytes at the end of `text` may be the beginning of a secret."""
    most = max(map(len, secrets), default=0) - 1
    for start in range(max(0, len(text) - most), len(text)):
        if any(secret.startswith(text[start:]) for secret in secrets):
            return len(text) - start
    return 0


def _secrets(connection: Connection) -> set[str]:
    plain = {connection.secret.strip()}
    if connection.base_url:
        try:
            query = urlsplit(connection.base_url.strip()).query
        except ValueError:
            query = ""
        plain.update(value for _, value in parse_qsl(query) if len(value) >= _WHOLE_WORD_BELOW)
    spellings = {spelling for secret in plain for spelling in (secret, quote(secret, safe=""), quote_plus(secret))}
    return spellings - {""}
