"""How a credential is presented, in exactly one header, and how it is kept out of what a provider answers."""

import re
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
