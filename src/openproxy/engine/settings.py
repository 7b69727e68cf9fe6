"""What an engine was started with, apart from the model and the worker."""

from dataclasses import dataclass
from typing import Literal

Api = Literal["llama", "openai"]

MAX_SECONDS: dict[Api, float] = {"llama": 600.0, "openai": 4 * 3600.0}
"""Longest recording by API (contracts/engine.md, decision 8)."""
MAX_BYTES: dict[Api, int] = {"llama": 25 * 1024 * 1024, "openai": 200 * 1024 * 1024}
"""Largest part of a form by API (contracts/engine.md, decision 8)."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How requests are taken and checked."""

    api: Api = "llama"
    """Whose transcription API is served: llama-server's or OpenAI's."""
    keys: tuple[str, ...] = ()
    """Accepted keys; none means that no key is asked for."""
    prefix: str = ""
    """What stands before every path, such as `/base`."""
    cors_origins: str = "*"
    """`*` echoes the origin of the request."""
    cors_credentials: bool = True
    """Whether browsers may send credentials."""
    max_seconds: float = MAX_SECONDS["llama"]
    """Of decoded audio."""
    max_bytes: int = MAX_BYTES["llama"]
    """Of one part of the form."""
    max_parts: int = 32
    """Of one form."""
    max_rate: int = 192_000
    """Hz."""
    max_channels: int = 8
    """Of the recording."""
    strict_containers: bool = False
    """Whether only wav, mp3 and flac are read, as llama-server does (decision 7)."""
    vad: bool = True
    """Whether voice activity detection keeps silence from the model."""
    temperature: float = 0.0
    """Where the request names none."""
    max_tokens: int = -1
    """Text tokens of one answer; -1 is no limit."""
