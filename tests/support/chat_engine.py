"""Engines with audio chat models that are small enough to run anywhere, and what is asked of them."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from support.digits import GGUF, PROJECTOR
from support.engine_server import EngineServer, running

CHAT = "/v1/chat/completions"


@contextmanager
def digits(*arguments: str) -> Iterator[EngineServer]:
    """An engine with the model that hears twenty words, through llama.cpp."""
    with running("-m", str(GGUF), "--mmproj", str(PROJECTOR), *arguments) as server:
        yield server


def recording(data: bytes, **more: str) -> dict[str, Any]:
    """A part of a message."""
    return {"type": "input_audio", "input_audio": {"data": base64.b64encode(data).decode(), "format": "wav", **more}}


def heard(data: bytes, text: str = "Transcribe audio to text") -> list[dict[str, Any]]:
    """The messages that ask for a transcript."""
    return [{"role": "user", "content": [{"type": "text", "text": text}, recording(data)]}]


def asked(server: EngineServer, messages: Any, path: str = CHAT, **fields: Any) -> httpx.Response:
    return httpx.post(server.url + path, json={"messages": messages, **fields}, timeout=120)
