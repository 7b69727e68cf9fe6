"""Where a request goes: the provider's own address, or the one that its connection names instead."""

import re
from urllib.parse import quote, urlsplit, urlunsplit

from openproxy.errors import BadRequest, UpstreamError
from openproxy.providers.catalog import Entry
from openproxy.upload import Connection

_VERSION = re.compile(r"v\d+[a-z]*")
_ASCII = "".join(map(chr, range(0x21, 0x7F)))
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f]")


def resolve(entry: Entry, connection: Connection) -> str:
    """The provider's address for this connection, without a trailing slash in its path; a query is kept.

    A `base_url` whose path is empty or ends in the version gets the rest of the provider's path, any other path stands
    as it is (contracts/gateway.md, decision 10). Raises UpstreamError 502 for one that is not http or https, or does
    not parse; never the vendor's address in its stead (decision 13).
    """
    given = (connection.base_url or "").strip()
    if not given:
        return entry.url
    try:
        parts = urlsplit(given)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or _FORBIDDEN.search(given):
        raise UpstreamError(502, "Request failed: baseUrl is not an http or https address")
    if "@" in parts.netloc:
        raise UpstreamError(502, "Request failed: baseUrl must not hold a user name or a password")
    path, query = (quote(part, safe=_ASCII) for part in (parts.path, parts.query))
    return urlunsplit((parts.scheme, parts.netloc, _complete(path, urlsplit(entry.url).path), query, ""))


def _complete(path: str, own: str) -> str:
    """`path` with what is missing of the provider's `own` path."""
    path = path.rstrip("/")
    if not path:
        return own
    version = next((piece for piece in own.split("/") if _VERSION.fullmatch(piece)), "v1")
    if path.endswith(("/v1", f"/{version}")):
        return path + (own.partition(f"/{version}")[2] or own)
    return path


def host(url: str) -> str:
    """The host of an address, in lower case and without a dot at its end."""
    return (urlsplit(url).hostname or "").removesuffix(".")


def below(url: str, *segments: str, suffix: str = "") -> str:
    """`url` with path segments added before its query, each percent-encoded, and `suffix` after the last as it is."""
    parts = urlsplit(url)
    path = "/".join((parts.path.rstrip("/"), *(quote(segment, safe="") for segment in segments))) + suffix
    return urlunsplit(parts._replace(path=path))


def sibling(url: str, last: str, instead: str) -> str | None:
    """`url` with `instead` as the last segment of its path in place of `last`; None where it ends in something else."""
    parts = urlsplit(url)
    if not parts.path.endswith(f"/{last}"):
        return None
    return urlunsplit(parts._replace(path=parts.path.removesuffix(last) + instead))


def with_query(url: str, encoded: str) -> str:
    """`url` with a form-urlencoded query behind the one that it has."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query=f"{parts.query}&{encoded}" if parts.query else encoded))


def model_segments(model: str) -> tuple[str, ...]:
    """The segments of a model id that becomes part of a path.

    Raises BadRequest `Invalid model ID` where it could change the path: `..`, `//`, a slash at either end, control
    characters, nothing at all (contracts/gateway.md, decision 12).
    """
    segments = tuple(model.split("/"))
    unsafe = ".." in model or any(not segment or segment == "." for segment in segments)
    if unsafe or any(not character.isprintable() for character in model):
        raise BadRequest("Invalid model ID", param="model")
    return segments
