"""The chat template of a model in Hugging Face or MLX form: which it is, and what it makes of a conversation."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from openproxy.errors import BadRequest

_VARIABLES = {"tools", "documents", "kwargs"}
"""Parameters of `apply_chat_template` that are variables of the template; the others say how it is applied."""


def own(*owners: Any) -> str | None:
    """The first template that one of these (a processor, a tokenizer) has."""
    for owner in owners:
        template = getattr(owner, "chat_template", None)
        if isinstance(template, dict):
            template = template.get("default")
        if isinstance(template, str):
            return template
    return None


def rendered(
    tokenizer: Any, template: str | None, messages: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]
) -> str:
    """The text of a conversation with the head of its answer; `settings` are variables of the template and nothing else.

    Raises BadRequest where that is no text, or the template has an objection.
    """
    taken = {"messages", *inspect.signature(tokenizer.apply_chat_template).parameters} - _VARIABLES
    if reserved := sorted(taken.intersection(settings)):
        raise BadRequest(f"{reserved[0]!r} is not for the request to set", param="chat_template_kwargs")
    with fitting():
        text: str = tokenizer.apply_chat_template(
            list(messages), chat_template=template, add_generation_prompt=True, tokenize=False, **settings
        )
    if not text:
        raise BadRequest("the model's chat template makes nothing of the messages", param="messages")
    return text


@contextmanager
def fitting() -> Iterator[None]:
    """Whatever goes wrong in here is said of the messages: templates and processors raise all kinds of errors at them."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise BadRequest(f"the messages do not fit the model's chat template: {error}", param="messages") from error


def control_tokens(tokenizer: Any, processor: Any = None) -> frozenset[str]:
    """Special tokens of the vocabulary, those in angle brackets that its maker added, and the processor's own."""
    added = {
        token.content
        for token in tokenizer.added_tokens_decoder.values()
        if token.special or (token.content.startswith("<") and token.content.endswith(">"))
    }
    named = {} if processor is None else vars(processor)
    of_processor = {value for name, value in named.items() if name.endswith("_token") and isinstance(value, str)}
    return frozenset({*added, *of_processor, *tokenizer.all_special_tokens})
