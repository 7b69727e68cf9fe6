import base64
import json
from typing import Any

import pytest

from openproxy.engine import chat_requests
from openproxy.engine.models.chat import Ask
from openproxy.engine.worker_messages import Turn
from openproxy.errors import BadRequest

HELLO = [{"role": "user", "content": "Hello"}]


def read(fields: Any, **defaults: Any) -> chat_requests.Wanted:
    body = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    return chat_requests.read(body, Ask(**defaults), max_recordings=2, max_bytes=8)


def recording(data: bytes, **more: Any) -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": base64.b64encode(data).decode(), **more}}


def test_messages_with_text_and_recordings() -> None:
    wanted = read(
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "What?"}, recording(b"RIFF", format="wav")]},
                {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}], "refusal": None},
                {"role": "tool", "content": [], "tool_call_id": "a", "unknown": 1},
            ]
        }
    )
    assert wanted.turns == (
        Turn("system", ("Be brief.",)),
        Turn("user", ("What?", b"RIFF")),
        Turn("assistant", (), {"tool_calls": [{"id": "a"}]}),
        Turn("tool", (), {"tool_call_id": "a"}),
    )
    assert (wanted.stream, wanted.include_usage, wanted.ask) == (False, False, Ask())


def test_settings() -> None:
    wanted = read(
        {
            "model": "any",
            "messages": HELLO,
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": 7,
            "max_completion_tokens": 5,
            "temperature": 0.5,
            "top_p": 1,
            "top_k": 40,
            "min_p": 0.05,
            "seed": 3,
            "stop": ["a", "", "b"],
            "grammar": "root ::= [a-z]",
            "samplers": ["top_k", "temperature"],
            "reasoning_format": "none",
            "reasoning_effort": "low",
            "tools": [{"type": "function"}],
            "user": "someone",
            "n": 1,
            "logprobs": False,
        }
    )
    assert (wanted.stream, wanted.include_usage) == (True, True)
    assert wanted.ask == Ask(
        temperature=0.5,
        top_k=40,
        top_p=1.0,
        min_p=0.05,
        seed=3,
        max_tokens=5,
        stop=("a", "b"),
        grammar="root ::= [a-z]",
        samplers=("top_k", "temperature"),
        reasoning_format="none",
        reasoning_effort="low",
        more={"tools": [{"type": "function"}]},
    )


def test_what_is_not_said_is_the_servers_own() -> None:
    nothing = {
        "messages": HELLO,
        "max_tokens": -1,
        "temperature": None,
        "tools": [],
        "response_format": {"type": "text"},
        "presence_penalty": 0,
        "logit_bias": {},
    }
    assert read(nothing, temperature=0.0, max_tokens=16).ask == Ask(temperature=0.0, max_tokens=16)
    assert read({"messages": HELLO, "max_tokens": 0}, max_tokens=16).ask == Ask(max_tokens=0)
    assert read({"messages": HELLO, "stop": "x", "temperature": 10**400}).ask == Ask(stop=("x",), temperature=1e30)


def nested(levels: int) -> Any:
    """Arrays and objects within each other, so many; an array is the outermost."""
    value: Any = "x"
    for level in reversed(range(levels)):
        value = {"a": value} if level % 2 else [value]
    return value


@pytest.mark.parametrize(
    ("fields", "param", "message"),
    [
        ({}, "messages", "Missing required field: messages"),
        ({"messages": "Hello"}, "messages", "'messages' must be an array of at least one message"),
        ({"messages": []}, "messages", "'messages' must be an array of at least one message"),
        ({"messages": ["Hello"]}, "messages[0]", "'messages[0]' must be an object"),
        ({"messages": [{"content": "x"}]}, "messages[0].role", "'messages[0].role' must be a string such as 'user'"),
        ({"messages": [{"role": "user"}]}, "messages[0].content", "'messages[0].content' must be a string or an array of parts"),
        ({"messages": [{"role": "user", "content": 1}]}, "messages[0].content", "'messages[0].content' must be a string or an array of parts"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "messages[0].content[0].type", "'messages[0].content[0].type' must be 'text' or 'input_audio'"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0].type", "'messages[0].content[0].type' must be 'text' or 'input_audio'"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text", "'messages[0].content[0].text' must be a string"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]}, "messages[0].content[0].input_audio.data", "'messages[0].content[0].input_audio.data' must be a string: the file in base64"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "data:audio/wav;base64,AA=="}}]}]}, "messages[0].content[0].input_audio.data", "'messages[0].content[0].input_audio.data' must be the file in base64, and nothing before it"),
        ({"messages": [{"role": "user", "content": [recording(b"x", format=1)]}]}, "messages[0].content[0].input_audio.format", "'messages[0].content[0].input_audio.format' must be a string such as 'wav'"),
        ({"messages": [{"role": "user", "content": [recording(bytes(9))]}]}, "messages[0].content[0].input_audio.data", "audio upload is 9 bytes, maximum is 8 bytes"),
        ({"messages": [{"role": "user", "content": [recording(b"x")] * 3}]}, "messages", "the messages hold 3 recordings, maximum is 2"),
        ({"messages": [{"role": "user", "content": "x", "name": 1}]}, "messages[0].name", "'messages[0].name' must be a string"),
        ({"messages": [{"role": "assistant", "tool_calls": "x"}]}, "messages[0].tool_calls", "'messages[0].tool_calls' must be an array"),
        ({"messages": HELLO, "stream": "true"}, "stream", "'stream' must be true or false"),
        ({"messages": HELLO, "stream_options": True}, "stream_options", "'stream_options' must be an object"),
        ({"messages": HELLO, "stream_options": {"include_usage": 1}}, "include_usage", "'include_usage' must be true or false"),
        ({"messages": HELLO, "n": 2}, "n", "'n' must be 1, as one answer is made for a request"),
        ({"messages": HELLO, "logprobs": True}, "logprobs", "logprobs is not available"),
        ({"messages": HELLO, "temperature": -0.1}, "temperature", "'temperature' must be a number not below 0"),
        ({"messages": HELLO, "temperature": "0"}, "temperature", "'temperature' must be a number not below 0"),
        ({"messages": HELLO, "top_p": 1.1}, "top_p", "'top_p' must be a number from 0 to 1"),
        ({"messages": HELLO, "top_p": True}, "top_p", "'top_p' must be a number from 0 to 1"),
        ({"messages": HELLO, "max_tokens": 1.5}, "max_tokens", "'max_tokens' must be a whole number from -1 to 2147483647"),
        ({"messages": HELLO, "max_completion_tokens": -2}, "max_completion_tokens", "'max_completion_tokens' must be a whole number from -1 to 2147483647"),
        ({"messages": HELLO, "seed": 2**63}, "seed", "'seed' must be a whole number from -9223372036854775808 to 9223372036854775807"),
        ({"messages": HELLO, "stop": [1]}, "stop", "'stop' must be a string or an array of strings"),
        ({"messages": HELLO, "stop": {}}, "stop", "'stop' must be a string or an array of strings"),
        ({"messages": HELLO, "grammar": "(" * 501}, "grammar", "the grammar is longer than 65536 characters, or nested deeper than 500 groups"),
        ({"messages": HELLO, "tools": {}}, "tools", "'tools' must be an array"),
        ({"messages": HELLO, "tool_choice": 1}, "tool_choice", "'tool_choice' must be a string or an object"),
        ({"messages": HELLO, "presence_penalty": True}, "presence_penalty", "'presence_penalty' must be a number"),
        ({"messages": HELLO, "reasoning_format": "x"}, "reasoning_format", "'reasoning_format' must be one of none, auto, deepseek, deepseek-legacy"),
        ([], None, "The body must be a JSON object"),
        (b"", None, "[json.exception.parse_error.101] parse error at line 1, column 1: attempting to parse an empty input; check that your input string or stream contains the expected JSON"),
        (b'{"messages": "\\ud800"}', None, "[json.exception.parse_error.101] parse error at line 1, column 21: syntax error while parsing value - invalid string: surrogate U+D800..U+DBFF must be followed by U+DC00..U+DFFF; last read: '\"\\ud800\"'"),
        (b'{"temperature": NaN}', None, "[json.exception.parse_error.101] parse error at line 1, column 17: syntax error while parsing value - invalid literal; last read: '\"temperature\": N'"),
        (b"[" * 100_000 + b"]" * 100_000, None, "The JSON of the body is nested too deeply, or its numbers are too long"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA==AAAA"}}]}]}, "messages[0].content[0].input_audio.data", "'messages[0].content[0].input_audio.data' must be the file in base64, and nothing before it"),
        ({"messages": HELLO, "chat_template_kwargs": {"a": nested(100)}}, "chat_template_kwargs", "'chat_template_kwargs' must be nested no deeper than 100 levels"),
        ({"messages": HELLO, "tools": nested(400)}, "tools", "'tools' must be nested no deeper than 100 levels"),
        ({"messages": [{"role": "assistant", "tool_calls": nested(900)}]}, "messages[0].tool_calls", "'messages[0].tool_calls' must be nested no deeper than 100 levels"),
        (b'{"seed": ' + b"9" * 5000 + b"}", None, "The JSON of the body is nested too deeply, or its numbers are too long"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(fields: Any, param: str | None, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read(fields)
    assert caught.value.param == param
    assert caught.value.message == message


def test_what_is_nested_within_the_limit_is_handed_on() -> None:
    wanted = read({"messages": HELLO, "tools": nested(100), "metadata": nested(900)})
    assert wanted.ask.more == {"tools": nested(100)}


def test_a_large_recording_is_decoded_whole() -> None:
    data = bytes(range(251)) * 40_000
    body = json.dumps({"messages": [{"role": "user", "content": [recording(data)]}]}).encode()
    (turn,) = chat_requests.read(body, Ask(), max_recordings=1, max_bytes=len(data)).turns
    assert turn.content == (data,)


def test_text_may_be_escaped_and_begin_with_a_mark() -> None:
    body = b'\xef\xbb\xbf{"messages": [{"role": "user", "content": "\\ud83d\\ude00 \\u00e9 \xc3\xa9"}]}'
    assert read(body).turns == (Turn("user", ("\U0001f600 \xe9 \xe9",)),)
