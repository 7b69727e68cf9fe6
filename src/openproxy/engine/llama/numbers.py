"""Numbers of a form as C++ reads them: `std::stof` and `std::stoul` with their prefixes, ranges and error names.

Sources: contracts/engine.md, sections 4.1 and 4.2, decision 5; the C standard's strtof and strtoul in the C locale.
"""

import re
import struct
from decimal import Decimal
from fractions import Fraction
from math import inf, isinf, nan

from openproxy.errors import BadRequest

_SPACE = r"[ \t\n\v\f\r]*"
_UNSIGNED = re.compile(_SPACE + r"([+-]?)([0-9]+)")
_FLOAT = re.compile(
    _SPACE + r"(?P<sign>[+-]?)(?:"
    r"0x(?P<hex>[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p(?P<power>[+-]?[0-9]+))?"
    r"|(?P<decimal>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)"
    r"|(?P<inf>inf(?:inity)?)"
    r"|(?P<nan>nan))",
    re.IGNORECASE | re.ASCII,
)

_SMALLEST_NORMAL = 2.0**-126
_OVERFLOW = 2.0**128 - 2.0**103
"""Halfway between the largest float and the next power: from here on, rounding gives infinity."""
_LARGEST = 2.0**128 - 2.0**104
_TINY = Fraction(2) ** -126 - Fraction(2) ** -151
"""Below it a result that is not exact counts as underflow."""


def stoul(text: str) -> int:
    """The value modulo 2**64 (a minus sign wraps around). Raises BadRequest `stoul` without digits or out of range."""
    match = _UNSIGNED.match(text)
    if match is None:
        raise BadRequest("stoul", param="max_tokens")
    sign, digits = match.groups()
    digits = digits.lstrip("0") or "0"
    if len(digits) > 20 or int(digits) >= 2**64:
        raise BadRequest("stoul", param="max_tokens")
    return -int(digits) % 2**64 if sign == "-" else int(digits)


def int32(value: int) -> int:
    """The low 32 bits as a signed number."""
    return (value + 2**31) % 2**32 - 2**31


def stof(text: str) -> float:
    """The single-precision value, as a double. Raises BadRequest `stof` without a number, on overflow and underflow."""
    match = _FLOAT.match(text)
    if match is None:
        raise BadRequest("stof", param="temperature")
    if match["inf"]:
        size = inf
    elif match["nan"]:
        size = nan
    elif match["hex"]:
        size = _from_hex(match["hex"], match["power"] or "0")
    else:
        size = _from_decimal(match["decimal"])
    return -size if match["sign"] == "-" else size


def _from_decimal(text: str) -> float:
    double = float(text)
    if isinf(double):
        raise _out_of_range()
    if double == 0.0:
        return _zero(text.lower().partition("e")[0])
    exact = Decimal(text)
    near = Decimal(double)
    return _to_single(double, (exact > near) - (exact < near))


def _from_hex(digits: str, power: str) -> float:
    whole, _, fraction = digits.partition(".")
    try:
        double = float.fromhex(f"0x{digits}p{power}")
    except OverflowError:
        raise _out_of_range() from None
    if double == 0.0:
        return _zero(digits)
    exponent = int(Decimal(power))  # int() alone refuses thousands of digits, zeros though they are
    exact = Fraction(int(whole + fraction, 16)) * Fraction(2) ** (exponent - 4 * len(fraction))
    near = Fraction(double)
    return _to_single(double, (exact > near) - (exact < near))


def _zero(digits: str) -> float:
    if digits.strip("0."):
        raise _out_of_range()
    return 0.0


def _to_single(double: float, beyond: int) -> float:
    """Round a positive double, and what the exact value has beyond it (its sign), to the nearest single, once."""
    if double > _OVERFLOW or (double == _OVERFLOW and beyond >= 0):
        raise _out_of_range()
    single = _LARGEST if double >= _OVERFLOW else _nearest(double, beyond)
    inexact = beyond != 0 or single != double
    if inexact and (Fraction(double) < _TINY or (Fraction(double) == _TINY and beyond < 0)):
        raise _out_of_range()
    return single


def _nearest(double: float, beyond: int) -> float:
    single = _as_single(double)
    if beyond == 0 or single == double:
        return single
    step = 1 if single < double else -1
    other = _neighbour(single, step)
    if isinf(other):
        return single
    halfway = abs(Fraction(other) - Fraction(double)) == abs(Fraction(double) - Fraction(single))
    return max(single, other) if halfway and beyond > 0 else min(single, other) if halfway else single


def _as_single(double: float) -> float:
    value: float = struct.unpack("<f", struct.pack("<f", double))[0]
    return value


def _neighbour(single: float, step: int) -> float:
    bits: int = struct.unpack("<I", struct.pack("<f", single))[0]
    value: float = struct.unpack("<f", struct.pack("<I", bits + step))[0]
    return value


def _out_of_range() -> BadRequest:
    return BadRequest("stof", param="temperature")
