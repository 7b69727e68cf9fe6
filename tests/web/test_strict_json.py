"""What is JSON, and what Python alone takes for it."""

import pytest

from openproxy.web.strict_json import NotJson, TooDeep, loads


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b'{"a": [1, 2.5, -0.0, 1e300, true, null, "\xc3\xa9"]}', {"a": [1, 2.5, -0.0, 1e300, True, None, "é"]}),
        (b'\xef\xbb\xbf"x"', "x"),
        (b'"\\ud83c\\udfa7 \\u0000"', "🎧 \0"),
        (b'{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_json(content, value):
    assert loads(content) == value


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "Expecting value"),
        (b"{} {}", "Extra data"),
        (b"NaN", "NaN is not a number of JSON"),
        (b'{"a": [-Infinity]}', "-Infinity is not a number of JSON"),
        (b"[1e400]", "a number is too large"),
        (b"1" * 5000, "a number is too long"),
        (b'"\xff"', "the body is not UTF-8"),
        (b'"\xed\xa0\x80"', "the body is not UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "the body is not UTF-8"),
        (b'{"a": "\\ud800"}', "a text holds half of a surrogate pair"),
        (b'{"\\udfff": 1}', "a text holds half of a surrogate pair"),
    ],
)
def test_what_is_none(content, reason):
    with pytest.raises(NotJson) as raised:
        loads(content)
    assert raised.value.reason == reason


def test_too_deep():
    with pytest.raises(TooDeep):
        loads(b"[" * 100_000 + b"]" * 100_000)
