"""What a stored name may be."""

from openproxy.errors import BadRequest
from openproxy.store.tables import NAME_LENGTH


def name(value: str, param: str, label: str) -> str:
    """`value` without white space around it.

    Raises BadRequest (`<label> is required` and the like) where it is blank, longer than NAME_LENGTH characters, or
    holds what no database stores: control characters and lone surrogates.
    """
    trimmed = value.strip()
    if not trimmed:
        raise BadRequest(f"{label} is required", param=param)
    if len(trimmed) > NAME_LENGTH:
        raise BadRequest(f"{label} is longer than {NAME_LENGTH} characters", param=param)
    if not storable(trimmed) or any(character < " " or character == "\x7f" for character in trimmed):
        raise BadRequest(f"{label} holds characters that cannot be stored", param=param)
    return trimmed


def storable(value: str) -> bool:
    """Whether every database can hold the text: no NUL, no lone surrogate."""
    return "\0" not in value and not any("\ud800" <= character <= "\udfff" for character in value)
