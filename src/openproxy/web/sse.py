"""Server-sent events as bytes: one `data:` line of compact JSON and a blank line."""

import json
from collections.abc import Mapping
from typing import Any

MEDIA_TYPE = "text/event-stream"

DONE = b"data: [DONE]\n\n"
"""What ends a stream that went well."""

PING = b":\n\n"
"""A comment: keeps a silent connection open, and is no event."""


def frame(data: Mapping[str, Any]) -> bytes:
    """One event. Text stays as it is (no ASCII escapes); JSON leaves no raw line break that could split the frame."""
    return b"data: " + compact(data) + b"\n\n"


def compact(data: Any) -> bytes:
    """JSON without white space, in UTF-8; a lone surrogate, which UTF-8 cannot carry, becomes `?`."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
