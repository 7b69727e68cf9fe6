import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openproxy.engine.llama.json_syntax import syntax_error

AT = "[json.exception.parse_error.101] parse error at line {}, column {}: "
VALUE = "syntax error while parsing value - "


@pytest.mark.parametrize(
    ("body", "line", "column", "reason"),
    [
        (b"", 1, 1, "attempting to parse an empty input; check that your input string or stream contains the expected JSON"),
        (b"hello", 1, 1, VALUE + "invalid literal; last read: 'h'"),
        (b"model=whisper-1", 1, 1, VALUE + "invalid literal; last read: 'm'"),
        (b"nul", 1, 4, VALUE + "invalid literal; last read: 'nul'"),
        (b"tru3", 1, 4, VALUE + "invalid literal; last read: 'tru3'"),
        (b"--x", 1, 2, VALUE + "invalid number; expected digit after '-'; last read: '--'"),
        (b"-", 1, 2, VALUE + "invalid number; expected digit after '-'; last read: '-'"),
        (b"[1.]", 1, 4, VALUE + "invalid number; expected digit after '.'; last read: '1.]'"),
        (b"[1e]", 1, 4, VALUE + "invalid number; expected '+', '-', or digit after exponent; last read: '1e]'"),
        (b"[1e+]", 1, 5, VALUE + "invalid number; expected digit after exponent sign; last read: '1e+]'"),
        (b"01", 1, 2, VALUE + "unexpected number literal; expected end of input"),
        (b"{} {}", 1, 4, VALUE + "unexpected '{'; expected end of input"),
        (b"[1,2]x", 1, 6, VALUE + "invalid literal; last read: '2]x'; expected end of input"),
        (b'{"a":', 1, 6, VALUE + "unexpected end of input; expected '[', '{', or a literal"),
        (b"  \n ", 2, 2, VALUE + "unexpected end of input; expected '[', '{', or a literal"),
        (b"[1,]", 1, 4, VALUE + "unexpected ']'; expected '[', '{', or a literal"),
        (b"[1 2]", 1, 4, "syntax error while parsing array - unexpected number literal; expected ']'"),
        (b"[1,\n 2", 2, 3, "syntax error while parsing array - unexpected end of input; expected ']'"),
        (b"{1:2}", 1, 2, "syntax error while parsing object key - unexpected number literal; expected string literal"),
        (b'{"a" 1}', 1, 6, "syntax error while parsing object separator - unexpected number literal; expected ':'"),
        (b'{"a":1]', 1, 7, "syntax error while parsing object - unexpected ']'; expected '}'"),
        (b'{"a":1,}', 1, 8, "syntax error while parsing object key - unexpected '}'; expected string literal"),
        (b'{"a":1,\n"b":tru}', 2, 8, VALUE + "invalid literal; last read: '\"b\":tru}'"),
        (b'"abc', 1, 5, VALUE + "invalid string: missing closing quote; last read: '\"abc'"),
        (b'"\\x"', 1, 3, VALUE + "invalid string: forbidden character after backslash; last read: '\"\\x'"),
        (b'"\\u12g4"', 1, 6, VALUE + "invalid string: '\\u' must be followed by 4 hex digits; last read: '\"\\u12g'"),
        (b'"a\xff"', 1, 3, VALUE + "invalid string: ill-formed UTF-8 byte; last read: '\"a\ufffd'"),
        (b'"\xe2("', 1, 3, VALUE + "invalid string: ill-formed UTF-8 byte; last read: '\"\ufffd('"),
        (
            b'"a\tb"', 1, 3,
            VALUE + "invalid string: control character U+0009 (HT) must be escaped to \\u0009 or \\t; last read: '\"a<U+0009>'",
        ),
        (b"\xef\xbbx", 1, 3, VALUE + "invalid BOM; must be 0xEF 0xBB 0xBF if given; last read: '\ufffdx'"),
        (b"RIFF\x24\x00", 1, 1, VALUE + "invalid literal; last read: 'R'"),
    ],
)  # fmt: skip
def test_the_first_error_is_named_with_its_place(body: bytes, line: int, column: int, reason: str) -> None:
    assert syntax_error(body) == AT.format(line, column) + reason


@pytest.mark.parametrize(
    "body",
    [b"{}", b"[]", b"null", b' "x" ', b"[1, -2.5e+3, 0]", b'{"a":{"b":[true,false,null]},"c":"\\u00e9\\ud83d\\ude42\\n"}', '"日本語 🙂"'.encode(), b"\xef\xbb\xbf{}", b"[" * 100000 + b"]" * 100000],
)  # fmt: skip
def test_one_whole_value_has_no_error(body: bytes) -> None:
    assert syntax_error(body) is None


@given(st.recursive(st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_what_json_writes_has_no_error(value: object) -> None:
    assert syntax_error(json.dumps(value).encode()) is None
    assert syntax_error(json.dumps(value, indent=1, ensure_ascii=False).encode("utf-8", "replace")) is None


@given(st.text('[]{}:,"\\eE+-.0123456789tfn \nu', max_size=12))
def test_it_agrees_with_json_about_what_is_valid(text: str) -> None:
    try:
        json.loads(text, parse_constant=lambda name: pytest.fail(name))
        valid = True
    except ValueError:
        valid = False
    assert (syntax_error(text.encode()) is None) == valid


def test_the_end_of_a_first_part_is_no_error_but_what_stands_before_it_is() -> None:
    assert syntax_error(b'{"a": [1, 2, "unfin', more=True) is None
    assert syntax_error(b'{"a": [1, 2}', more=True) is not None
