"""What the bodies of /api are made of: JSON objects in camelCase, and the strings in them.

The same constraints check a request and stand in the OpenAPI document.
"""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt
from pydantic.alias_generators import to_camel

from openproxy.store import moments
from openproxy.store.tables import NAME_LENGTH


class Asked(BaseModel):
    """A request's body. Fields that are not declared are passed over."""

    model_config = ConfigDict(alias_generator=to_camel)


class Told(BaseModel):
    """A reply's body."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=False)


class Done(Told):
    """Something was done."""

    success: bool = True
    message: str


Name = Annotated[
    str,
    Field(
        min_length=1,
        max_length=NAME_LENGTH,
        pattern=r"^[^\x00-\x1f\x7f]*[^\s\x00-\x20\x7f][^\x00-\x1f\x7f]*$",
        examples=["main"],
    ),
]
"""Not blank, no control characters."""

Secret = Annotated[
    str, Field(max_length=8192, pattern=r"^[ \t\r\n]*[ -~]*[ \t\r\n]*$", json_schema_extra={"writeOnly": True})
]
"""Printable ASCII, so that it can stand in a header; white space around it is dropped."""


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 1.0 is a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)
"""For a StrictInt, after its bounds."""

Priority = Annotated[
    StrictInt,
    Field(ge=-(2**31), lt=2**31, description="The lowest is tried first; null counts as 999.", examples=[1]),
    WHOLE,
]
Active = Annotated[StrictBool, Field(description="Whether it is used.")]


def moment(value: datetime | None) -> str | None:
    """RFC 3339."""
    return None if value is None else moments.text(value)
