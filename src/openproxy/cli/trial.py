"""`openproxy provider test`: one second of silence, sent to an account as a transcription would be."""

import io
import time
import wave
from dataclasses import dataclass

from openproxy import providers
from openproxy.errors import BadRequest, OpenProxyError
from openproxy.gateway import fallback
from openproxy.providers.catalog import PROVIDERS, Entry
from openproxy.providers.http import Client
from openproxy.store import Store
from openproxy.store.connections import StoredConnection
from openproxy.upload import Kept, TranscriptionRequest, Upload

_RATE = 16_000
_MODEL_ELSEWHERE = "whisper-1"
"""What is asked for where neither the account nor the catalogue names a model."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the account answered."""

    model: str
    error: OpenProxyError | None
    """None where it transcribed."""
    seconds: float


async def attempt(store: Store, stored: StoredConnection, model: str | None = None) -> Outcome:
    """Send the account a recording. Raises BadRequest where its provider has no speech to text."""
    entry, provider = PROVIDERS.get(stored.provider), providers.get(stored.provider)
    if entry is None or provider is None:
        raise BadRequest(f"Provider '{stored.provider}' does not support STT")
    chosen = model or _model(stored, entry)
    begun = time.monotonic()
    error = None
    with Upload("silence.wav") as upload:
        upload.write(_silence())
        upload.finish()
        request = TranscriptionRequest(chosen, Kept(upload.source), "silence.wav", "audio/wav", rendered=True)
        async with Client() as client:
            try:
                await provider.transcribe(request, await fallback.opened(store, stored), client)
            except OpenProxyError as failed:
                error = failed
    return Outcome(chosen, error, time.monotonic() - begun)


def _model(stored: StoredConnection, entry: Entry) -> str:
    enabled = stored.data.get("enabledModels")
    default = stored.data.get("defaultModel")
    if isinstance(default, str) and default:
        return default
    if isinstance(enabled, list) and enabled:
        return str(enabled[0])
    return entry.models[0].id if entry.models else _MODEL_ELSEWHERE


def _silence() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(_RATE)
        out.writeframes(bytes(2 * _RATE))
    return file.getvalue()
