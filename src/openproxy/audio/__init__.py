"""Audio of any kind -> mono float32 at 16 kHz, in blocks and under limits."""

from typing import TYPE_CHECKING, Any

from openproxy.audio.limits import Limits

if TYPE_CHECKING:
    from openproxy.audio.clip import DEFAULT_LIMITS, Audio, open_audio
    from openproxy.audio.resampling import RATE

__all__ = ["DEFAULT_LIMITS", "RATE", "Audio", "Limits", "open_audio"]

_HOME = {"DEFAULT_LIMITS": "clip", "RATE": "resampling", "Audio": "clip", "open_audio": "clip"}


def __getattr__(name: str) -> Any:
    """Import what decodes when it is first asked for: a process that only names limits loads neither av nor numpy."""
    if name not in _HOME:
        raise AttributeError(f"module 'openproxy.audio' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"openproxy.audio.{_HOME[name]}"), name)
