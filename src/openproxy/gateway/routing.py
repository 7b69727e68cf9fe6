"""A model string -> a combo, or a provider and the model's name there (contracts/gateway.md, section 4)."""

from collections.abc import Container, Mapping
from dataclasses import dataclass

from openproxy.errors import BadRequest
from openproxy.providers.aliases import canonical
from openproxy.providers.catalog import PROVIDERS, Entry
from openproxy.store.aliases import Target
from openproxy.transcript import Task

_COMBO = "combo:"
_BY_PREFIX = (
    (("claude-",), "anthropic"),
    (("gemini-",), "gemini"),
    (("gpt-", "o1", "o3", "o4"), "openai"),
    (("deepseek-",), "openrouter"),
)
_OTHERWISE = "openai"


@dataclass(frozen=True, slots=True)
class Combo:
    """A named list of models, which this route does not take."""

    name: str


@dataclass(frozen=True, slots=True)
class Route:
    """Where a model is to be had."""

    provider: str
    """Canonical id; may be empty or unknown."""
    model: str
    """The model's own name, as it was written."""


def resolve(model: str, combos: Container[str], aliases: Mapping[str, Target]) -> Combo | Route:
    """What the trimmed, non-empty `model` names. A string with a slash is never a combo's name or an alias."""
    if model.startswith(_COMBO):
        return Combo(model.removeprefix(_COMBO))
    if "/" in model:
        return _split(model)
    if model in combos:
        return Combo(model)
    return _aliased(aliases.get(model)) or Route(_inferred(model), model)


def transcriber(found: Combo | Route, task: Task = "transcribe") -> Entry:
    """The provider that does the task there. Raises BadRequest with the words of contracts/gateway.md, section 1.4."""
    if isinstance(found, Combo):
        raise BadRequest("Combos not supported for audio/transcriptions", param="model")
    if not found.provider:
        raise BadRequest("Invalid model format", param="model")
    entry = PROVIDERS.get(found.provider)
    if entry is None:
        raise BadRequest(f"Provider '{found.provider}' does not support STT", param="model", code="model_not_found")
    if task == "translate" and not entry.translations:
        raise BadRequest(f"Provider '{entry.id}' does not support audio/translations", param="model")
    return entry


def _split(name: str) -> Route:
    prefix, _, rest = name.partition("/")
    return Route(canonical(prefix), rest)


def _aliased(target: Target | None) -> Route | None:
    """The route of an alias; its target is not resolved again, and one that names no provider is none."""
    if isinstance(target, str):
        return _split(target) if "/" in target else None
    if target is None:
        return None
    provider, model = target.get("provider"), target.get("model")
    if isinstance(provider, str) and isinstance(model, str):
        return Route(canonical(provider), model)
    return None


def _inferred(model: str) -> str:
    lowered = model.lower()
    return next((provider for prefixes, provider in _BY_PREFIX if lowered.startswith(prefixes)), _OTHERWISE)
