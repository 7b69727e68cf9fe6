"""What `/v1/models` tells of the loaded model: what it is, what it can do, and the limits (contracts/engine.md, decision 15)."""

from typing import Any

from openproxy import formats
from openproxy.engine.models import ModelFacts
from openproxy.engine.settings import EngineSettings
from openproxy.engine.worker import Worker


def listed(facts: ModelFacts, settings: EngineSettings, worker: Worker, *, created: int) -> dict[str, Any]:
    """An entry of OpenAI's list of models; `created` in seconds since 1970."""
    return {
        "id": facts.name,
        "object": "model",
        "created": created,
        "owned_by": "openproxy",
        "meta": {
            "kind": facts.kind,
            "modalities": {"input": _inputs(facts), "output": ["text"]},
            "formats": _formats(facts, settings),
            "languages": list(facts.languages),
            "translates": facts.translates,
            "word_timestamps": facts.word_timestamps,
            **({"grammar": facts.grammar, "samplers": facts.samplers} if facts.kind == "chat" else {}),
            "limits": {
                "max_seconds": settings.max_seconds,
                "max_bytes": settings.max_bytes,
                "max_parts": settings.max_parts,
                "max_rate": settings.max_rate,
                "max_channels": settings.max_channels,
                **({"context": facts.context} if facts.kind == "chat" else {}),
                "parallel": worker.model.parallel,
                "queue": worker.settings.queue,
                "timeout": worker.settings.timeout,
            },
        },
    }


def _inputs(facts: ModelFacts) -> list[str]:
    """A chat server that does not say whether its model hears is taken to be one that does."""
    if facts.kind == "whisper":
        return ["audio"]
    return ["text"] if facts.takes_audio is False else ["text", "audio"]


def _formats(facts: ModelFacts, settings: EngineSettings) -> list[str]:
    """Of transcripts."""
    if facts.takes_audio is False:
        return []
    return list(formats_of(facts)) if settings.api == "openai" else ["json"]


def formats_of(facts: ModelFacts) -> tuple[str, ...]:
    """The formats that a model's transcripts can be made into: those with times need a model that gives them."""
    if facts.kind == "chat":
        return ("json", "text")
    return tuple(name for name in formats.NAMES if name != "diarized_json")
