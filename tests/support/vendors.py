"""The seven vendors' fakes behind connections of a gateway."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fakes.assemblyai import AssemblyAI
from fakes.deepgram import Deepgram
from fakes.gemini import Gemini
from fakes.huggingface import HuggingFace
from fakes.loopback import serve
from fakes.openai import Groq, OpenAI
from support import background
from support.gateway_server import Gateway

SECRET = "test-key-0123456789abcdef"

MODELS = {
    "openai": "openai/whisper-1",
    "groq": "groq/whisper-large-v3",
    "deepgram": "dg/nova-3",
    "assemblyai": "aai/universal-2",
    "huggingface": "hf/openai/whisper-small",
    "gemini": "gemini/gemini-2.5-flash",
    "selfhosted-stt": "selfhosted-stt/whisper-1",
}
"""A model of each provider, some by the provider's short name."""

FAKES: dict[str, tuple[Any, str, str]] = {
    "openai": (OpenAI, "/v1", "bearer"),
    "groq": (Groq, "/openai/v1", "bearer"),
    "deepgram": (Deepgram, "/v1/listen", "token"),
    "assemblyai": (AssemblyAI, "/v2/transcript", "bare"),
    "huggingface": (HuggingFace, "/hf-inference/models", "bearer"),
    "gemini": (Gemini, "/v1beta/models", "x-goog-api-key"),
    "selfhosted-stt": (OpenAI, "/v1", "bearer"),
}
"""The fake, the path of its base address, and how the vendor wants its credential."""


@contextmanager
def vendor(gateway: Gateway, provider: str, key: str = SECRET) -> Iterator[Any]:
    """The vendor's fake, which takes `key`, behind a connection that has SECRET."""
    kind, path, scheme = FAKES[provider]
    fake = kind(key)
    with background.entered(serve(fake.app())) as url:
        gateway.connect(provider, url + path, SECRET, authScheme=scheme)
        yield fake


def recordings(fake: Any) -> list[bytes]:
    """The bytes of every recording that the fake has heard."""
    return [one if isinstance(one, bytes) else one[-1] for one in fake.heard]
