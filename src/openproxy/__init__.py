"""Speech-to-text on one route. `openproxy.transcribe()` is the library; the commands are `openproxy` and `openproxy-engine`."""

from typing import TYPE_CHECKING, Any

from openproxy.version import __version__

if TYPE_CHECKING:
    from openproxy.api import transcribe, transcribe_stream
    from openproxy.transcript import Segment, Transcript, Usage, Word

__all__ = ["Segment", "Transcript", "Usage", "Word", "__version__", "transcribe", "transcribe_stream"]

_HOME = {
    "transcribe": "api",
    "transcribe_stream": "api",
    "Segment": "transcript",
    "Transcript": "transcript",
    "Usage": "transcript",
    "Word": "transcript",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `import openproxy` stays light."""
    if name not in _HOME:
        raise AttributeError(f"module 'openproxy' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"openproxy.{_HOME[name]}"), name)
