"""What a model's folder must have to be talked to, whichever library has loaded it."""

from typing import Any

from openproxy.audio import RATE
from openproxy.engine.models import chat_template
from openproxy.engine.models.chat import ChatSettings
from openproxy.errors import ModelUnusable


def hears(processor: Any, name: str) -> bool:
    """Whether it takes audio. Raises ModelUnusable where that would be audio of another rate than 16 kHz."""
    extractor = getattr(processor, "feature_extractor", None)
    if extractor is not None and extractor.sampling_rate != RATE:
        raise ModelUnusable(f"{name} hears {extractor.sampling_rate} Hz; what is known here is {RATE} Hz")
    return extractor is not None


def template(settings: ChatSettings, processor: Any, tokenizer: Any, name: str) -> str:
    """The chat template: the one of the settings, else the folder's own. Raises ModelUnusable where there is none."""
    found = settings.template or chat_template.own(processor, tokenizer)
    if found is None:
        raise ModelUnusable(f"{name} has no chat template; --chat-template-file gives it one")
    return found


def context(settings: ChatSettings, own: object) -> int | None:
    """Tokens: the least of what the settings and the model's own configuration say; None where neither says any."""
    limits = [limit for limit in (own, settings.context) if isinstance(limit, int) and limit > 0]
    return min(limits, default=None)
