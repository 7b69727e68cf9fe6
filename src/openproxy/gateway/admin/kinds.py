"""Kinds of media providers, and which kind a stored connection is of (contracts/gateway.md, section 1.5)."""

import json

from openproxy.errors import NotFound
from openproxy.providers.catalog import PROVIDERS
from openproxy.store.connections import StoredConnection

MEDIA_TYPES = ("tts", "stt", "embedding", "image", "search")
"""What `mediaType` may be."""
KINDS = ("embedding", "image", "imageToText", "tts", "stt", "webSearch", "webFetch", "video", "music", "search")
COMBINED = {"web": ("webSearch", "webFetch")}
"""Kinds that are asked for under one name."""
INVALID = f"Invalid media_type. Must be one of: {json.dumps(MEDIA_TYPES)}"
_TAGS = ("mediaType", "media_type", "type")
_STT_WORDS = ("stt", "deepgram", "whisper", "transcription")


def members(kind: str) -> tuple[str, ...]:
    """The kinds that a name stands for. Raises NotFound."""
    if kind in COMBINED:
        return COMBINED[kind]
    if kind not in KINDS:
        raise NotFound(f"Unknown media provider kind: {kind}")
    return (kind,)


def kind_of(stored: StoredConnection) -> str | None:
    """The kind that the connection is tagged with, else the one that its provider suggests; None where none does."""
    tagged = next((value for tag in _TAGS if (value := stored.data.get(tag)) in KINDS), None)
    if tagged is not None:
        return str(tagged)
    provider = stored.provider.lower()
    if "tts" in provider:
        return "tts"
    if stored.provider in PROVIDERS or any(word in provider for word in _STT_WORDS):
        return "stt"
    return None
