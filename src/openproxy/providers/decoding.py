"""The content coding of an upstream's answer, undone while it arrives; what is cut short or damaged in it is noticed."""

import zlib
from collections.abc import Iterator

import aiohttp

ACCEPTED = "gzip, deflate"
"""What an upstream is told that it may use."""

_PIECE = 64 * 1024
"""Bytes that are unpacked at a time, so that a small answer cannot fill the memory."""
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS


class Decoder:
    """Undoes `Content-Encoding` (RFC 9110, section 8.4). Raises ClientPayloadError, for an unknown coding at once."""

    def __init__(self, coding: str | None):
        self._coding = (coding or "identity").strip().lower().removeprefix("x-") or "identity"
        if self._coding not in ("identity", "gzip", "deflate"):
            raise aiohttp.ClientPayloadError
        self._unpacking: zlib._Decompress | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What the next bytes stand for, in pieces."""
        if self._coding == "identity":
            yield data
            return
        try:
            while data:
                unpacking = self._unpacking = self._unpacking or zlib.decompressobj(self._window(data[0]))
                if piece := unpacking.decompress(data, _PIECE):
                    yield piece
                # one gzip file may follow another
                data = unpacking.unused_data if unpacking.eof else unpacking.unconsumed_tail
                if unpacking.eof:
                    self._unpacking = None
        except zlib.error:
            raise aiohttp.ClientPayloadError from None

    def finish(self) -> None:
        """The answer is over."""
        if self._unpacking is not None:
            raise aiohttp.ClientPayloadError

    def _window(self, first: int) -> int:
        """`deflate` is deflate in zlib's wrapping, but some servers leave the wrapping out."""
        if self._coding == "gzip":
            return _GZIP
        return _ZLIB if first & 0x0F == zlib.DEFLATED else _RAW
