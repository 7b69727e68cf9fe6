import math

import pytest

from openproxy.engine.llama.fields import BOOLEAN, NUMERIC, Abilities, Asked, ask
from openproxy.engine.llama.form import Form, Value
from openproxy.errors import BadRequest
from openproxy.upload import Upload

CLIP = Upload("a.wav")
FREE = Abilities(grammar=True, samplers=True)


def asked(abilities: Abilities = FREE, /, **fields: Value) -> Asked:
    return ask(Form(dict(fields), CLIP), abilities)


def refusal(abilities: Abilities = FREE, /, **fields: Value) -> str:
    """The message of the first error, early or late."""
    with pytest.raises(BadRequest) as caught:
        asked(abilities, **fields).check_late()
    return caught.value.message


def test_a_clip_alone_asks_for_nothing_else() -> None:
    assert asked() == Asked(CLIP)


def test_what_is_honoured_is_carried_as_it_was_sent() -> None:
    assert asked(
        prompt=" ", language=" en\n", stream="true", max_tokens="3.7", temperature="0.5abc", model="whisper-1",
        stop="x", grammar='root ::= "a"', samplers="kp", reasoning_format="none", reasoning_effort="low", user="me",
        response_format="json",
    ) == Asked(
        CLIP, " ", " en\n", True, 3, 0.5, ("x",), "whisper-1", 'root ::= "a"', "kp", "none", "low",
    )  # fmt: skip


def test_repeated_fields_count_as_absent_but_for_stop_and_samplers() -> None:
    twice = ["a", "b"]
    assert asked(
        prompt=twice, language=twice, stream=["true", "true"], response_format=["text", "srt"], model=twice, grammar=twice,
        reasoning_effort=twice, unknown=twice, stop=["a", "", "b"], samplers=["top_k", "temperature"],
    ) == Asked(CLIP, stop=("a", "b"), samplers=("top_k", "temperature"))  # fmt: skip


@pytest.mark.parametrize("value", ["True", "TRUE", "1", " true", "true ", "on", "yes", "", "false"])
def test_only_true_streams(value: str) -> None:
    assert asked(stream=value).stream is False


@pytest.mark.parametrize(
    ("sent", "used"),
    [("-1", 0.0), ("-0", 0.0), ("-inf", 0.0), ("nan", math.inf), ("inf", math.inf), ("2", 2.0), ("\t1", 1.0)],
)
def test_a_temperature_is_clamped_and_not_refused(sent: str, used: float) -> None:
    value = asked(temperature=sent).temperature
    assert value == used
    assert value is not None
    assert math.copysign(1.0, value) == 1.0


@pytest.mark.parametrize(
    "value", ["text", "srt", "vtt", "verbose_json", "JSON", " json", "json ", "json\n", "", "null", '"json"']
)
def test_only_json_can_be_had(value: str) -> None:
    assert refusal(response_format=value) == "Only 'json' response_format is supported for transcription"


def test_checks_come_in_their_order() -> None:
    wrong: dict[str, Value] = {}
    ladder: list[tuple[str, Value, str]] = [
        ("samplers", "k", "Field 'samplers': not supported by the loaded model"),
        ("grammar", "x", "Field 'grammar': not supported by the loaded model"),
        ("dry_sequence_breakers", "x", "Field 'dry_sequence_breakers': Error: dry_sequence_breakers must be a non-empty array of strings"),
        ("lora", "[]", "Field 'lora': Error: 'lora' must be an array of objects with 'id' and 'scale' fields"),
        ("json_schema", '{"type":"object"}', 'Field \'json_schema\': "json_schema": JSON schema conversion failed:\nUnrecognized schema: "{\\"type\\":\\"object\\"}"'),
        ("ignore_eos", "true", "Field 'ignore_eos': [json.exception.type_error.302] type must be boolean, but is string"),
        ("seed", "7", "Field 'seed': [json.exception.type_error.302] type must be number, but is string"),
        ("max_tokens", "-2", "Field 'max_tokens': Value must be between -1 <= value <= 2147483647, but got -2"),
        ("n_predict", "2", "Field 'n_predict': [json.exception.type_error.302] type must be number, but is string"),
        ("top_logprobs", "3", "top_logprobs requires logprobs to be set to true"),
        ("continue_final_message", "content", "Cannot set both add_generation_prompt and continue_final_message to true."),
        ("reasoning_format", "bogus", "Unknown reasoning format: bogus"),
        ("tools", "[]", "Failed to parse tools: Expected 'tools' to be an array, got \"[]\"; tools = \"[]\""),
        ("temperature", "abc", "stof"),
        ("max_tokens", "abc", "stoul"),
        ("response_format", "text", "Only 'json' response_format is supported for transcription"),
    ]  # fmt: skip
    for name, value, message in ladder:
        wrong[name] = value
        assert refusal(Abilities(), **wrong) == message
    with pytest.raises(BadRequest, match=r"^No input file found for transcription$"):
        ask(Form(wrong))
    with pytest.raises(BadRequest, match=r"^not JSON$"):
        ask(Form(json_error="not JSON"))


@pytest.mark.parametrize(
    "fields",
    [
        {"top_p": "0.9"},
        {"max_tokens": "-2"},
        {"verbose": "true"},
        {"lora": "[]"},
        {"json_schema": "{}"},
        {"grammar": "x"},
    ],
)
def test_the_schema_is_looked_at_only_after_the_clip(fields: dict[str, Value]) -> None:
    late = asked(Abilities(), **fields)
    assert late.late is not None
    with pytest.raises(BadRequest, match=r"^Field '"):
        late.check_late()


@pytest.mark.parametrize("name", [name for name in NUMERIC if name != "max_tokens"])
def test_numeric_names_of_the_completion_api_are_no_text(name: str) -> None:
    wrong = f"Field '{name}': [json.exception.type_error.302] type must be number, but is "
    assert refusal(**{name: "1"}) == wrong + "string"
    assert refusal(**{name: ["1", "2"]}) == wrong + "array"


@pytest.mark.parametrize("name", BOOLEAN)
def test_boolean_names_of_the_completion_api_are_no_text(name: str) -> None:
    wrong = f"Field '{name}': [json.exception.type_error.302] type must be boolean, but is "
    assert refusal(**{name: "true"}) == wrong + "string"
    assert refusal(**{name: ["true", "true"]}) == wrong + "array"


@pytest.mark.parametrize(
    "name",
    [
        "model", "user", "timestamp_granularities[]", "include[]", "chunking_strategy", "store", "service_tier", "messages",
        "id_slot", "response_fields", "tool_choice", "chat_template_kwargs", "add_generation_prompt", "parallel_tool_calls",
        "stream_options", "logit_bias", "thinking_budget_tokens", "generation_prompt", "chat_format", "grammar_lazy",
        "preserved_tokens", "message_delimiters", "__proto__", "", "continue_final_message", "response_format[]", "음성",
    ],
)  # fmt: skip
def test_names_without_effect_are_ignored(name: str) -> None:
    asked(**{name: "[]"}).check_late()
    asked(**{name: ["a", "b"]}).check_late()


@pytest.mark.parametrize("name", ["max_tokens", "temperature", "reasoning_format"])
def test_a_repeated_text_that_must_be_one_is_a_type_error(name: str) -> None:
    assert refusal(**{name: ["0", "1"]}) == "[json.exception.type_error.302] type must be string, but is array"


@pytest.mark.parametrize("value", ["none", "auto", "deepseek", "deepseek-legacy"])
def test_known_reasoning_formats(value: str) -> None:
    assert asked(reasoning_format=value).reasoning_format == value


def test_tools_are_refused_with_what_was_sent() -> None:
    start = "Failed to parse tools: "
    assert refusal(tools="né") == start + 'Expected \'tools\' to be an array, got "né"; tools = "né"'
    assert refusal(tools=["a", "b"]) == (
        start + '[json.exception.type_error.304] cannot use at() with string; tools = [\n  "a",\n  "b"\n]'
    )


def test_an_empty_grammar_and_no_samplers_are_none() -> None:
    asked(Abilities(), grammar="", samplers="").check_late()
