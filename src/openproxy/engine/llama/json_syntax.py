"""Where a JSON text breaks, in the words and positions of the nlohmann library that llama-server reads bodies with.

A checker only: a JSON body never carries a file, so that nothing of it is kept (contracts/engine.md, section 3.1).
"""

import re
from typing import Final

_SPACE: Final = re.compile(rb"[ \t\n\r]*")
_PLAIN: Final = re.compile(rb'[^"\\\x00-\x1f\x80-\xff]*')
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)?(?:(?<=[0-9])\.[0-9]*)?(?:(?<=[0-9])[eE][+-]?[0-9]*)?")
_HEX4: Final = re.compile(rb"[0-9a-fA-F]{4}")
_UTF8: Final = re.compile(
    rb"(?:[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})+"
)
_NUMBER_STARTS: Final = frozenset(bytes([char]) for char in b"-0123456789")
_HEX_DIGITS: Final = frozenset(bytes([char]) for char in b"0123456789abcdefABCDEF")
_LITERALS: Final = {b"t": (b"true", "true literal"), b"f": (b"false", "false literal"), b"n": (b"null", "null literal")}
_MARKS: Final = {b"[": "'['", b"{": "'{'", b"]": "']'", b"}": "'}'", b":": "':'", b",": "','"}
_END: Final = "end of input"
_STRING: Final = "string literal"
_VALUES: Final = {_STRING, "number literal", "true literal", "false literal", "null literal"}


class _Broken(Exception):
    """`at`: how many bytes had been read when it was noticed."""

    def __init__(self, reason: str, at: int):
        super().__init__(reason)
        self.reason = reason
        self.at = at


def syntax_error(body: bytes, *, more: bool = False) -> str | None:
    """The message for the first error of `body`, None where it is one JSON value.

    With `more`, `body` is only the beginning of a longer text, and reaching its end is no error.
    """
    lexer = _Lexer(body)
    try:
        _check(lexer)
    except _Broken as broken:
        if more and broken.at > len(body):
            return None
        return _message(body, broken)
    return None


def _message(body: bytes, broken: _Broken) -> str:
    read = body[: broken.at]
    line = read.count(b"\n") + 1
    column = broken.at - (read.rfind(b"\n") + 1)
    return f"[json.exception.parse_error.101] parse error at line {line}, column {column}: {broken.reason}"


def _check(lexer: "_Lexer") -> None:
    """One value and nothing after it; a stack instead of recursion, so that depth costs no frames."""
    stack: list[str] = []
    kind = lexer.token("value")
    if kind == _END and lexer.at == 1:
        reason = "attempting to parse an empty input; check that your input string or stream contains the expected JSON"
        raise _Broken(reason, lexer.at)
    while True:
        if kind == "'['":
            kind = lexer.token("value")
            if kind != "']'":
                stack.append("]")
                continue
        elif kind == "'{'":
            kind = lexer.token("object key")
            if kind != "'}'":
                kind = _key(lexer, kind)
                stack.append("}")
                continue
        elif kind not in _VALUES:
            raise lexer.unexpected(kind, "value", "'[', '{', or a literal")
        closed = _after_value(lexer, stack)
        if closed is None:
            return
        kind = closed


def _after_value(lexer: "_Lexer", stack: list[str]) -> str | None:
    """What follows a complete value: the first token of the next one, or None at the end of the text."""
    while stack:
        inside = "array" if stack[-1] == "]" else "object"
        kind = lexer.token(inside)
        if kind == "','":
            return lexer.token("value") if inside == "array" else _key(lexer, lexer.token("object key"))
        if kind != f"'{stack[-1]}'":
            raise lexer.unexpected(kind, inside, f"'{stack[-1]}'")
        stack.pop()
    kind = lexer.token("value", _END)
    if kind != _END:
        raise lexer.unexpected(kind, "value", _END)
    return None


def _key(lexer: "_Lexer", kind: str) -> str:
    """A key and its colon; gives the first token of the value."""
    if kind != _STRING:
        raise lexer.unexpected(kind, "object key", _STRING)
    colon = lexer.token("object separator")
    if colon != "':'":
        raise lexer.unexpected(colon, "object separator", "':'")
    return lexer.token("value")


class _Lexer:
    """Splits the text into tokens. `at` counts the bytes read, one more than there are once the end was met."""

    def __init__(self, body: bytes):
        self.body = body
        self.at = 0
        self.began = 0
        """Where the text quoted by an error begins: the last string or number, or the very start."""

    def token(self, context: str, expected: str = "") -> str:
        """The name of the next token. Raises _Broken where there is none."""
        if self.at == 0 and self.body.startswith(b"\xef"):
            self._byte_order_mark(context)
        body, start = self.body, self._skip_space()
        first = body[start : start + 1]
        self.at = start + 1
        if not first or first == b"\0":
            return _END
        if first in _MARKS:
            return _MARKS[first]
        try:
            if first in _LITERALS:
                return self._literal(*_LITERALS[first])
            if first == b'"':
                return self._string()
            return self._number(start)
        except _Broken as broken:
            self.at = broken.at
            wanted = f"; expected {expected}" if expected else ""
            reason = f"syntax error while parsing {context} - {broken.reason}; last read: '{self._last_read()}'{wanted}"
            raise _Broken(reason, broken.at) from None

    def unexpected(self, token: str, context: str, expected: str) -> _Broken:
        """The error for a token that is whole but out of place."""
        return _Broken(f"syntax error while parsing {context} - unexpected {token}; expected {expected}", self.at)

    def _skip_space(self) -> int:
        match = _SPACE.match(self.body, min(self.at, len(self.body)))
        return match.end() if match is not None else self.at

    def _byte_order_mark(self, context: str) -> None:
        mark = b"\xef\xbb\xbf"
        for size in (2, 3):
            if self.body[:size] != mark[:size]:
                self.at = size
                reason = "invalid BOM; must be 0xEF 0xBB 0xBF if given"
                last = self._last_read()
                raise _Broken(f"syntax error while parsing {context} - {reason}; last read: '{last}'", size)
        self.at = 3

    def _literal(self, word: bytes, name: str) -> str:
        for expected in word[1:]:
            self.at += 1
            if self.body[self.at - 1 : self.at] != bytes([expected]):
                raise _Broken("invalid literal", self.at)
        return name

    def _string(self) -> str:
        self.began = self.at - 1
        body, at = self.body, self.at
        while True:
            match = _PLAIN.match(body, at)
            at = match.end() if match is not None else at
            char = body[at : at + 1]
            if char == b'"':
                self.at = at + 1
                return _STRING
            if not char:
                raise _Broken("invalid string: missing closing quote", at + 1)
            if char == b"\\":
                at = _escape(body, at + 1)
            elif char < b" ":
                raise _Broken(f"invalid string: {_control(char[0])}", at + 1)
            else:
                match = _UTF8.match(body, at)
                if match is None:
                    raise _Broken("invalid string: ill-formed UTF-8 byte", _ill_formed(body, at))
                at = match.end()

    def _number(self, start: int) -> str:
        if self.body[start : start + 1] not in _NUMBER_STARTS:
            raise _Broken("invalid literal", self.at)
        self.began = start
        match = _NUMBER.match(self.body, start)
        text = match.group() if match is not None else b""
        self.at = start + len(text)
        last = text[-1:]
        if last.isdigit():
            return "number literal"
        after = {b"-": "expected digit after '-'", b".": "expected digit after '.'"}
        if last in b"eE":
            reason = "expected '+', '-', or digit after exponent"
        elif last in b"+-" and len(text) > 1:
            reason = "expected digit after exponent sign"
        else:
            reason = after[last]
        raise _Broken(f"invalid number; {reason}", self.at + 1)

    def _last_read(self) -> str:
        raw = self.body[self.began : self.at]
        text = raw.decode("utf-8", "replace")
        return "".join(f"<U+{ord(char):04X}>" if char < " " else char for char in text[:200])


def _escape(body: bytes, at: int) -> int:
    """The place after an escape whose letter is at `at`."""
    letter = body[at : at + 1]
    if letter and letter in b'"\\/bfnrt':
        return at + 1
    if letter != b"u":
        raise _Broken("invalid string: forbidden character after backslash", at + 1)
    unit = _four_digits(body, at + 1)
    at += 5
    pair = "invalid string: surrogate U+D800..U+DBFF must be followed by U+DC00..U+DFFF"
    if 0xD800 <= unit <= 0xDBFF:
        for expected in (b"\\", b"u"):
            if body[at : at + 1] != expected:
                raise _Broken(pair, at + 1)
            at += 1
        second = _four_digits(body, at)
        at += 4
        if not 0xDC00 <= second <= 0xDFFF:
            raise _Broken(pair, at)
    elif 0xDC00 <= unit <= 0xDFFF:
        raise _Broken("invalid string: surrogate U+DC00..U+DFFF must follow U+D800..U+DBFF", at)
    return at


def _four_digits(body: bytes, at: int) -> int:
    match = _HEX4.match(body, at)
    if match is None:
        good = 0
        while good < 3 and body[at + good : at + good + 1] in _HEX_DIGITS:
            good += 1
        raise _Broken("invalid string: '\\u' must be followed by 4 hex digits", at + good + 1)
    return int(match.group(), 16)


def _ill_formed(body: bytes, at: int) -> int:
    """Bytes read when the sequence that begins at `at` turns out to be wrong."""
    for size in (1, 2, 3, 4):
        try:
            body[at : at + size].decode("utf-8")
        except UnicodeDecodeError as error:
            if error.reason != "unexpected end of data" or at + size > len(body):
                return at + size
    return at + 1


def _control(code: int) -> str:
    names = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}
    shown = f"\\u{code:04X}"
    either = f"{shown} or {names[code]}" if code in names else shown
    letters = "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US"
    return f"control character U+{code:04X} ({letters.split()[code]}) must be escaped to {either}"
