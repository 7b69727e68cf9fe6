"""What a provider hands back: a Transcript, or the upstream's own answer to be passed on as it is."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from openproxy.providers.http import Answer
from openproxy.transcript import Transcript
from openproxy.upload import LIST_FIELDS, TranscriptionRequest

_PRINTABLE_NAME = re.compile(r"[A-Za-z0-9_.\[\]-]{1,64}")
_MOST_NAMES = 32

_IN_PARTS = frozenset({"chunking_strategy"})
"""Fields that clients may send member by member, as OpenAI's SDKs send an object."""

MADE_BY_GATEWAY = frozenset({"response_format", "stream", "timestamp_granularities"})
"""Fields that need no upstream where the gateway makes the format itself."""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """An upstream answer of the OpenAI wire, untouched. It goes to the client with status 200."""

    content_type: str
    """As the upstream wrote it."""
    body: bytes | Answer
    """The whole body; or, for an event stream, the pieces as they arrive: iterate it, and `close()` it in any case."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The outcome of one attempt that succeeded."""

    answer: Transcript | Verbatim
    ignored: tuple[str, ...] = ()
    """Names of request fields that this upstream could not use, for the header `x-openproxy-ignored`."""


def ignored(
    request: TranscriptionRequest, used: Collection[str], late: Collection[str] = frozenset()
) -> tuple[str, ...]:
    """The names of the fields that this upstream could not use, in the order received.

    `used` are those it can use, without `[]`; `late` those that it can still use when they follow the file.
    Each name stands once; names that cannot stand in a header are left out.
    """
    made = MADE_BY_GATEWAY if request.rendered else frozenset()
    if request.value("response_format") != "verbose_json":
        made -= {"timestamp_granularities"}
    names = (
        name
        for fields, known in ((request.fields, {*used, *made}), (request.audio.late_fields(), late))
        for name, value in fields
        if value.strip() and plain(name) not in known and _PRINTABLE_NAME.fullmatch(name)
    )
    return tuple(dict.fromkeys(names))[:_MOST_NAMES]


def plain(name: str) -> str:
    """The field that a name means: `keywords[]` and `keywords[0]` are `keywords`, `chunking_strategy[type]` is a part
    of `chunking_strategy`; of a field with one value only the name itself, so that `language[]` is no field.
    """
    bare = name.partition("[")[0]
    return bare if bare in LIST_FIELDS or bare in _IN_PARTS else name
