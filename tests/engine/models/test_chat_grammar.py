from typing import Any

import pytest

from openproxy.engine.models.chat import Ask
from openproxy.errors import BadRequest

WORDS = 'root ::= word (" " word){0,40}\nword ::= [a-z]{1,12} # {0,1999} is no repetition here, nor is "\n'


def schema(value: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": value}}}


@pytest.mark.parametrize(
    "grammar",
    [WORDS, 'root ::= "a"{0,1999} "{0,1999}"', 'root ::= ("' + "a" * 900 + '"){100}', 'root ::= "a"{99999999999}'],
)
def test_what_is_within_the_limits_is_let_through(grammar: str) -> None:
    assert Ask(grammar=grammar).grammar == grammar


@pytest.mark.parametrize(
    "grammar",
    [
        "root ::= " + '"a"{0,1999} ' * 60,
        "root ::= " + "x { 1999 , 2000 } " * 60,
        'root ::= "' + "a" * 900 + '"{100,200}',
        "root ::= [" + "a-z" * 100 + "]{,400}",
        '# "\nroot ::= ' + '"a"{0,1999}' * 60,
    ],
)
def test_a_grammar_that_repeats_too_much_is_refused(grammar: str) -> None:
    with pytest.raises(BadRequest) as caught:
        Ask(grammar=grammar)
    assert caught.value.param == "grammar"
    assert caught.value.message == "the grammar's repetitions are more than 100000 characters when written out"


MANY = {f"p{at}": {"type": "string", "maxLength": 1999} for at in range(60)}


@pytest.mark.parametrize(
    ("more", "param", "message"),
    [
        (schema({"enum": ["x" * 50] * 6000}), "response_format", "response_format is longer than 262144 characters of JSON"),
        (schema({"type": "object", "properties": MANY}), "response_format", "the repetitions in response_format are more than 100000 items when written out"),
        (schema({"type": "string", "pattern": '^"' + "a{1999}" * 60 + '"$'}), "response_format", "the repetitions in response_format are more than 100000 items when written out"),
        (schema({"pattern": "[" + "abc" * 100 + "]{1000}"}), "response_format", "the repetitions in response_format are more than 100000 items when written out"),
        ({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": MANY}}}]}, "tools", "the repetitions in tools are more than 100000 items when written out"),
    ],
)  # fmt: skip
def test_schemas_that_would_take_all_memory_are_refused(more: dict[str, Any], param: str, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        Ask(more=more)
    assert (caught.value.param, caught.value.message) == (param, message)


def test_a_schema_of_the_usual_kind_is_let_through() -> None:
    usual = {
        "type": "object",
        "properties": {"minLength": {"type": "string", "maxLength": 65536, "pattern": "^[a-z]{3}$"}},
    }
    assert Ask(more=schema(usual)).more == schema(usual)
