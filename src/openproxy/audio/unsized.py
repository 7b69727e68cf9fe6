"""Headers that were written to a pipe, so that nobody could come back to fill in how long the audio is.

ffmpeg reads such a wav or au as it is; for these the bytes that are there are put into the header.
"""

import struct
from collections.abc import Iterator

from openproxy.audio.source import Source

_HEAD_BYTES = 40
_RF64 = (b"RF64", b"BW64")
_RF64_AUDIO = 28
"""Where in an RF64 the 64-bit size of its audio is, as its first chunk is `ds64` (EBU Tech 3306, section 3.5)."""
_W64 = bytes.fromhex("72696666 2e91cf11 a5d628db 04c10000")
"""The GUID with which a Sony Wave64 begins; its own size, of 8 bytes, follows."""
_WHOLE_AIFF = 4
_MOST_CHUNKS = 1000


def sized(source: Source) -> Source:
    """`source` with the sizes that its header leaves open; itself where there are none."""
    head = source.peek(0, _HEAD_BYTES)
    if len(head) < _HEAD_BYTES:
        return source
    if head[:4] in _RF64 and head[8:16] == b"WAVEds64" and not any(head[_RF64_AUDIO : _RF64_AUDIO + 8]):
        return source.corrected((_RF64_AUDIO, struct.pack("<Q", source.size)))
    if head[:16] == _W64 and struct.unpack_from("<Q", head, 16)[0] > source.size:
        return source.corrected(*_w64(source))
    if head[:4] == b"FORM" and head[8:11] == b"AIF" and not any(head[_WHOLE_AIFF : _WHOLE_AIFF + 4]):
        return source.corrected(*_aiff(source))
    return source


def _w64(source: Source) -> Iterator[tuple[int, bytes]]:
    """Place and value of the sizes of a whole Wave64 and of its audio."""
    yield 16, struct.pack("<Q", source.size)
    position = _HEAD_BYTES
    for _ in range(_MOST_CHUNKS):
        chunk = source.peek(position, 24)
        if len(chunk) < 24:
            return
        size = struct.unpack_from("<Q", chunk, 16)[0]
        if chunk[:4] == b"data":
            yield position + 16, struct.pack("<Q", min(size, source.size - position))
            return
        if size < 24:
            return
        position += -(-size // 8) * 8


def _aiff(source: Source) -> Iterator[tuple[int, bytes]]:
    """Place and value of the sizes of a whole AIFF, of its audio, and of the number of its sample frames."""
    yield _WHOLE_AIFF, _big(source.size - 8)
    position, counted, frame = 12, 0, 0
    for _ in range(_MOST_CHUNKS):
        chunk = source.peek(position, 8)
        if len(chunk) < 8:
            return
        name, size = struct.unpack(">4sI", chunk)
        position += 8
        if name == b"COMM":
            channels, _, bits = struct.unpack(">hIh", source.peek(position, 8).ljust(8, b"\0"))
            counted, frame = position + 2, channels * -(-bits // 8)
        elif name == b"SSND" and size <= 8:
            yield position - 4, _big(source.size - position)
            if frame > 0:
                yield counted, _big((source.size - position - 8) // frame)
            return
        position += size + size % 2


def _big(value: int) -> bytes:
    return struct.pack(">I", max(0, min(value, 0xFFFFFFFF)))
