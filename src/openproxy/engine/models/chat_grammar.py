"""How much a grammar, or a JSON schema that becomes one, may ask of its parser.

One request must not take all stack, memory or time of a process that works for others.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

from openproxy.errors import BadRequest

LONGEST_GRAMMAR = 65_536
"""Characters."""
DEEPEST_GRAMMAR = 500
"""Groups within each other."""
MOST_REPEATED = 100_000
"""Characters or items that all repetitions together are written out to; llama.cpp takes some 300 bytes for each."""
LONGEST_SCHEMA = 262_144
"""Characters of JSON; the choices of an enumeration take time that grows with the square of their number."""

_WITH_SCHEMAS = ("response_format", "tools")
_COUNTED = ("minLength", "maxLength", "minItems", "maxItems")
_WRITTEN_OUT = 2_000
"""What is to be repeated more often, llama.cpp refuses or does not count."""
_CLASS, _COUNT = r"\[(?:\\.|[^\]\\])*\]", r"\{\s*(?P<least>\d*)\s*(?:,\s*(?P<most>\d*)\s*)?\}"
_GBNF = re.compile(r'#[^\n]*|"(?:\\.|[^"\\])*"|' + _CLASS + "|" + _COUNT + r"|[\w-]+|\S", re.DOTALL)
_PATTERN = re.compile(_CLASS + "|" + _COUNT + r"|\\.|.", re.DOTALL)


def check_grammar(grammar: str) -> None:
    """Raise BadRequest for GBNF that is too long, too deep or repeats too much."""
    if len(grammar) > LONGEST_GRAMMAR or _depth(grammar) > DEEPEST_GRAMMAR:
        raise BadRequest(
            f"the grammar is longer than {LONGEST_GRAMMAR} characters, or nested deeper than {DEEPEST_GRAMMAR} groups",
            param="grammar",
        )
    if _repeated(_GBNF, grammar) > MOST_REPEATED:
        raise BadRequest(
            f"the grammar's repetitions are more than {MOST_REPEATED} characters when written out", param="grammar"
        )


def check_schemas(request: Mapping[str, Any]) -> None:
    """Raise BadRequest for `response_format` or `tools` whose schemas are too long or repeat too much."""
    for name in _WITH_SCHEMAS:
        value = request.get(name)
        if value is None:
            continue
        if len(json.dumps(value, ensure_ascii=False)) > LONGEST_SCHEMA:
            raise BadRequest(f"{name} is longer than {LONGEST_SCHEMA} characters of JSON", param=name)
        if sum(_counts(value)) > MOST_REPEATED:
            raise BadRequest(
                f"the repetitions in {name} are more than {MOST_REPEATED} items when written out", param=name
            )


def _depth(grammar: str) -> int:
    """How deep its groups are within each other; a bracket in a literal counts as well."""
    steps = ((character == "(") - (character == ")") for character in grammar)
    return max(accumulate(steps), default=0)


def _repeated(tokens: re.Pattern[str], text: str) -> int:
    """How many characters the repetitions `{n}` and `{n,m}` of a grammar or a pattern are when written out."""
    total, size = 0, 1
    for token in tokens.finditer(text):
        if token["least"] is not None:
            counts = [int(digits) for digits in (token["least"], token["most"]) if digits and len(digits) < 10]
            total += size * max((count for count in counts if count <= _WRITTEN_OUT), default=0)
        else:
            size = len(token[0]) if token[0][0] in ('"', "[") else 1
    return total


def _counts(schema: Any) -> Iterator[int]:
    """What each repetition in a value of JSON, at any depth, is written out to."""
    if isinstance(schema, dict):
        for name, value in schema.items():
            if name in _COUNTED and isinstance(value, int) and 0 < value <= _WRITTEN_OUT:
                yield value
            elif name == "pattern" and isinstance(value, str):
                yield _repeated(_PATTERN, value)
            else:
                yield from _counts(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _counts(item)
