"""A JSON body with a long base64 string in it, read while it arrives: the string is decoded in pieces, the rest is kept."""

import binascii
import re
from pathlib import Path
from typing import Any

from openproxy.errors import BadRequest
from openproxy.gateway import form_fields
from openproxy.upload import Upload
from openproxy.web import strict_json
from openproxy.web.strict_json import NotJson

AUDIO = "file_b64"

_STRUCTURE = re.compile(rb'["{}\[\]:,]')
_STRING_STOP = re.compile(rb'["\\]')
_BLANK = b" \t\r\n\v\f"
_PIECE = 64 * 1024
"""Characters of base64 that are decoded at once."""
_ESCAPES = {b"/": b"/", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"\\": b"\\", b'"': b'"'}


class Base64Writer:
    """Standard base64 in pieces of any length -> an Upload. White space is passed over (contracts/gateway.md, B51)."""

    def __init__(self, folder: Path | None = None):
        self.upload = Upload(folder=folder)
        self.error: str | None = None
        """What is wrong with the base64; None while nothing is."""
        self._folder = folder
        self._waiting = bytearray()
        self._padded = False

    def restart(self) -> None:
        """Forget what has come: of several members of the name the last one counts."""
        self.upload.close()
        self.upload = Upload(folder=self._folder)
        self.error, self._padded = None, False
        self._waiting.clear()

    def write(self, text: bytes) -> None:
        """Take in characters."""
        if self.error is None:
            self._waiting += text
            if len(self._waiting) >= _PIECE:
                self._decode(last=False)

    def finish(self) -> None:
        """Take in the end."""
        if self.error is None:
            self._decode(last=True)
        self._waiting.clear()

    def _decode(self, *, last: bool) -> None:
        text = self._waiting.translate(None, _BLANK)
        whole = len(text) if last else len(text) - len(text) % 4
        try:
            if self._padded and text:
                raise binascii.Error("Excess data after padding")  # noqa: TRY301
            self.upload.write(binascii.a2b_base64(memoryview(text)[:whole], strict_mode=True))
        except binascii.Error as error:
            self.error = str(error)
        self._padded = self._padded or text[:whole].endswith(b"=")
        self._waiting = text[whole:]


class JsonAudio:
    """Splits a JSON object into the bytes that its member `file_b64` stands for and all its other members."""

    def __init__(self, writer: Base64Writer):
        self._writer = writer
        self._rest = bytearray()
        self._depth = 0
        self._key = bytearray()
        self._is_value = False
        self._in_string = False
        self._in_audio = False
        self._escape: bytes | None = None
        self._bad_escape = False

    def feed(self, chunk: bytes) -> None:
        """Take in a piece of the body. Raises UploadTooLarge where the other members go beyond what memory holds."""
        position = 0
        while position < len(chunk):
            if self._escape is not None:
                position = self._escaped(chunk, position)
            elif self._in_string:
                position = self._string(chunk, position)
            else:
                position = self._structure(chunk, position)
        if len(self._rest) > form_fields.MOST_BYTES:
            raise form_fields.too_many()

    def document(self) -> Any:
        """The body with "" in the place of the audio. Raises BadRequest where it is not JSON."""
        try:
            if self._bad_escape:
                raise NotJson("Invalid \\escape")  # noqa: TRY301
            return strict_json.loads(bytes(self._rest))
        except NotJson as error:
            # without the place: the audio is not in what was parsed
            raise BadRequest(f"Invalid JSON: {error.reason}", code="invalid_json") from None

    def _structure(self, chunk: bytes, position: int) -> int:
        """Between strings: note where in the object this is. Returns the position to go on from."""
        found = _STRUCTURE.search(chunk, position)
        end = len(chunk) if found is None else found.end()
        self._rest += chunk[position:end]
        if found is None:
            return end
        match found[0]:
            case b'"':
                self._in_string = True
                self._in_audio = self._depth == 1 and self._is_value and self._key == AUDIO.encode()
                if self._in_audio:
                    self._writer.restart()
                elif self._depth == 1 and not self._is_value:
                    self._key.clear()
            case b"{" | b"[":
                self._depth += 1
                self._is_value = False
                self._key.clear()
            case b"}" | b"]":
                self._depth -= 1
            case b":":
                self._is_value = self._is_value or self._depth == 1
            case _:
                self._is_value = self._is_value and self._depth != 1
        return end

    def _string(self, chunk: bytes, position: int) -> int:
        found = _STRING_STOP.search(chunk, position)
        end = len(chunk) if found is None else found.start()
        self._keep(chunk[position:end])
        if found is None:
            return end
        if found[0] == b"\\":
            self._escape = b""
        else:
            self._in_string = self._in_audio = False
            self._rest += b'"'
        return found.end()

    def _escaped(self, chunk: bytes, position: int) -> int:
        """One more character after a backslash; the escape is complete with the first, or with four digits after `u`."""
        escape = (self._escape or b"") + chunk[position : position + 1]
        if escape.startswith(b"u") and len(escape) < 5:
            self._escape = escape
            return position + 1
        self._escape = None
        if not self._in_audio:
            self._keep(b"\\" + escape)
        elif escape.startswith(b"u"):
            self._unicode(escape[1:])
        elif escape in _ESCAPES:
            self._writer.write(_ESCAPES[escape])
        else:
            self._bad_escape = True
        return position + 1

    def _unicode(self, digits: bytes) -> None:
        try:
            self._writer.write(chr(int(digits, 16)).encode("utf-8", "replace"))
        except ValueError:
            self._bad_escape = True

    def _keep(self, text: bytes) -> None:
        if self._in_audio:
            self._writer.write(text)
            return
        self._rest += text
        if self._depth == 1 and not self._is_value and len(self._key) <= len(AUDIO):
            self._key += text
