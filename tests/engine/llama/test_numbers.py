import ctypes
import math
import struct

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from openproxy.engine.llama.numbers import int32, stof, stoul
from openproxy.errors import BadRequest


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("16", 16), ("0", 0), (" 3", 3), ("3 ", 3), ("\n3", 3), ("\t\v\f\r 3", 3), ("+3", 3), ("3abc", 3),
        ("1e3", 1), ("3.7", 3), ("0x10", 0), ("010", 10), ("1,000", 1), ("3;4", 3), ("-0", 0), ("00000000000000000000007", 7),
        ("-1", -1), ("-2", -2), ("2147483647", 2147483647), ("2147483648", -2147483648), ("4294967295", -1),
        ("4294967296", 0), ("4294967299", 3), ("9223372036854775807", -1), ("9223372036854775808", 0),
        ("18446744073709551615", -1), ("-18446744073709551615", 1), ("-18446744073709551613", 3), ("-2147483649", 2147483647),
    ],
)  # fmt: skip
def test_max_tokens_is_read_as_unsigned_and_cut_to_32_bits(text: str, value: int) -> None:
    assert int32(stoul(text)) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "abc",
        "null",
        "٣",
        "-",
        "+",
        "+-3",
        "- 3",
        "--1",
        ".5",
        "\xa03",
        "18446744073709551616",
        "99999999999999999999",
        "-18446744073709551616",
        "9" * 10000,
    ],
)
def test_a_count_without_digits_or_beyond_64_bits_is_stoul(text: str) -> None:
    with pytest.raises(BadRequest, match=r"^stoul$"):
        stoul(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0.0), ("0.5", 0.5), ("0.5abc", 0.5), (" 0.5", 0.5), ("0.5 ", 0.5), ("\n1", 1.0), ("+1", 1.0), ("-1", -1.0),
        (".5", 0.5), ("5.", 5.0), ("1e2", 100.0), ("1E-2", 0.009999999776482582), ("0.1", 0.10000000149011612),
        ("1e", 1.0), ("1e+", 1.0), ("1,5", 1.0), ("1_000", 1.0), ("0x10", 16.0), ("0x1p-1", 0.5), ("0x", 0.0), ("0xg", 0.0),
        ("0x.8", 0.5), ("0x1.8p1x", 3.0), ("0x.p1", 0.0), ("0x1p", 1.0), ("1.17549435e-38", 1.1754943508222875e-38),
        ("3.4028235e38", 3.4028234663852886e38), ("inf", math.inf), ("-inf", -math.inf), ("INFINITY", math.inf),
        ("infinityx", math.inf), ("infinit", math.inf), ("0e999999999", 0.0), ("0.000e-99999", 0.0),
        ("0x1p-149", 2.0**-149), ("0x0p99999", 0.0), ("1" + "0" * 30 + "e-30", 1.0), ("0." + "0" * 5000 + "5e5000", 0.5),
        ("0x1p-" + "0" * 5000 + "1", 0.5), ("0x.8p" + "0" * 9000 + "2", 2.0), ("1e" + "0" * 5000 + "1", 10.0),
    ],
)  # fmt: skip
def test_temperature_is_the_longest_prefix_that_is_a_float(text: str, value: float) -> None:
    assert stof(text) == value


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", "nan(1)", "nan(", "nanx"])
def test_not_a_number_is_a_number(text: str) -> None:
    assert math.isnan(stof(text))


def test_minus_zero_keeps_its_sign() -> None:
    assert math.copysign(1.0, stof("-0")) == -1.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "abc",
        "e5",
        "--1",
        "true",
        "null",
        "٠",
        ".",
        "-",
        "+.e1",
        "in",
        "na",
        "1e400",
        "-1e400",
        "1e39",
        "3.5e38",
        "1e-46",
        "1e-40",
        "1e-99999999999",
        "1e999999999999",
        "0x1p128",
        "0x1p-200",
    ],
)
def test_no_number_or_one_beyond_single_precision_is_stof(text: str) -> None:
    with pytest.raises(BadRequest, match=r"^stof$"):
        stof(text)


_NUMBERS = st.one_of(
    st.text("0123456789.eE+-xXpPaAbBfFinN ()_", max_size=24),
    st.floats(allow_nan=False).map(repr),
    st.floats(width=32, allow_nan=False).map(float.hex),
    st.tuples(st.integers(0, 2**40), st.integers(-60, 60)).map(lambda pair: f"{pair[0]}e{pair[1]}"),
    st.tuples(st.integers(0, 2**64), st.integers(-200, 100)).map(lambda pair: f"0x{pair[0]:x}p{pair[1]}"),
    # halfway between two singles, and a little beyond it
    st.tuples(st.integers(2**23, 2**24 - 1), st.sampled_from(["", "00000000000000000000000001"])).map(
        lambda pair: f"{pair[0]}.5{pair[1]}"
    ),
)


@settings(max_examples=600, deadline=None)
@given(_NUMBERS)
@example("1.1754943508222875e-38")
@example("1.17549428e-38")
@example("1.1754942807573643e-38")
@example("0x1.fffffep-127")
@example("0x1.ffffffp-127")
@example("0x1.ffffff0001p-127")
@example("0x1.fffffefp-127")
@example("340282356779733661637539395458142568447")
@example("340282356779733661637539395458142568448")
@example("0x1.ffffffp127")
@example("0x1.fffffeffffffffffffp127")
@example("0x1.00000100000000000000000001p0")
@example("0x1.000001p0")
def test_floats_are_those_of_the_c_library(text: str) -> None:
    assert outcome(text) == c_outcome(text)


def outcome(text: str) -> bytes | str:
    try:
        value = stof(text)
    except BadRequest as error:
        return error.message
    return "nan" if math.isnan(value) else struct.pack("<d", value)


def c_outcome(text: str) -> bytes | str:
    library = ctypes.CDLL(None, use_errno=True)
    library.strtof.restype = ctypes.c_float
    library.strtof.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p)]
    raw = ctypes.create_string_buffer(text.encode())
    end = ctypes.c_char_p()
    ctypes.set_errno(0)
    value = library.strtof(ctypes.cast(raw, ctypes.c_char_p), ctypes.byref(end))
    if ctypes.cast(end, ctypes.c_void_p).value == ctypes.addressof(raw) or ctypes.get_errno():
        return "stof"
    return "nan" if math.isnan(value) else struct.pack("<d", value)
