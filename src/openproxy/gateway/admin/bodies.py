"""A request's body as JSON: read under a limit, and refused where it cannot be stored or shown again."""

from typing import Any

from starlette.requests import Request

from openproxy.errors import BadRequest, UnsupportedEncoding, UploadTooLarge
from openproxy.web import body, strict_json
from openproxy.web.strict_json import NotJson, TooDeep

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 64
"""Objects and lists within one another."""
_MOST_DISCARDED = 16 * 1024 * 1024


class JsonRequest(Request):
    """A request whose body has been read and parsed."""

    def __init__(self, request: Request, content: bytes, parsed: Any):
        super().__init__(request.scope, request.receive)
        self._content = content
        self._parsed = parsed

    async def body(self) -> bytes:
        """All of it."""
        return self._content

    async def json(self) -> Any:
        """What it says."""
        return self._parsed


async def read(request: Request, idle: float) -> JsonRequest:
    """The request with its body, of which a piece comes every `idle` seconds.

    Raises UnsupportedEncoding, UploadTooLarge, BadRequest, Stalled.
    """
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared != "application/json" and not (declared.startswith("application/") and declared.endswith("+json")):
        raise UnsupportedEncoding("Content-Type must be application/json", code="unsupported_content_type")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise UnsupportedEncoding(f"Content-Encoding {encoding[:40]} is not read here")
    length = body.declared_length(request.headers.get("content-length"))
    chunks = body.timely(request.stream(), idle)
    pieces: list[bytes] = []
    try:
        async for piece in body.limited(chunks, MAX_BYTES, declared=length):
            pieces.append(piece)  # noqa: PERF401 - an asynchronous comprehension would lose the request at an error
    except UploadTooLarge:
        await body.discard(chunks, max_bytes=_MOST_DISCARDED)
        raise
    content = b"".join(pieces)
    return JsonRequest(request, content, parsed(content) if content else None)


def parsed(content: bytes) -> Any:
    """What JSON in UTF-8 says. Raises BadRequest `Invalid JSON: <what is wrong>`."""
    try:
        value = strict_json.loads(content)
    except TooDeep:
        raise _too_deep() from None
    except NotJson as error:
        raise BadRequest(f"Invalid JSON: {error}") from None
    _inspect(value)
    return value


def _inspect(value: Any) -> None:
    """Raise BadRequest for what is nested too deeply to be stored."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        if not level:
            return
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                below.extend(one.values())
            elif isinstance(one, list):
                below.extend(one)
        level = below
    raise _too_deep()


def _too_deep() -> BadRequest:
    return BadRequest(f"Invalid JSON: more than {MAX_DEPTH} objects and lists within one another")
