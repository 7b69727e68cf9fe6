"""The chunks of a wav: where its audio ends, and one number in its header that would turn it into noise."""

import struct
from collections.abc import Iterator

from openproxy.audio.source import Source

_HEAD_BYTES = 12
_MAX_CHUNKS = 1000
"""Chunks among which the audio is looked for."""
_ALIGNMENT = 12
"""Where in the `fmt ` chunk the bytes of a block are."""
_PLAIN = (1, 3, 6, 7)
"""Encodings in which a block is one sample of every channel: PCM, floating point, A-law and mu-law."""
_EXTENSIBLE = 0xFFFE
_MOST = 0xFFFF
"""Bytes of a block that the header can hold."""


def is_wave(head: bytes) -> bool:
    """Whether a file with these first bytes is a wav."""
    return head[:4] == b"RIFF" and head[8:12] == b"WAVE"


def is_swapped(head: bytes) -> bool:
    """Whether a file with these first bytes is a wav of big-endian numbers, which ffmpeg would read as little-endian."""
    return head[:4] == b"RIFX" and head[8:12] == b"WAVE"


def declares_nothing(source: Source) -> bool:
    """Whether a wav says that it has 0 bytes of audio."""
    return any(name == b"data" and size == 0 for name, _, size in _chunks(source))


def trimmed(source: Source) -> Source:
    """A wav to the end of its audio, with blocks of the right size; anything else, and one that does not say, as it is.

    What follows is tags, or what a recorder had reserved: zeros, which ffmpeg takes for millions of empty chunks. Blocks
    of a false size, which ffmpeg reads as they are, would begin in the midst of a sample.
    """
    end, corrections = source.size, []
    for name, position, size in _chunks(source):
        if name == b"data" and size:
            end = min(position + size, source.size)
        elif name == b"fmt " and (right := _block(source.peek(position, 40))) is not None:
            corrections.append((position + _ALIGNMENT, struct.pack("<H", right)))
    clip = source.part(0, end)
    return clip.corrected(*corrections) if corrections else clip


def _chunks(source: Source) -> Iterator[tuple[bytes, int, int]]:
    """Name, place and declared bytes of the chunks up to `data`; none where the file is no wav."""
    if not is_wave(source.peek(0, _HEAD_BYTES)):
        return
    position = _HEAD_BYTES
    for _ in range(_MAX_CHUNKS):
        chunk = source.peek(position, 8)
        if len(chunk) < 8:
            return
        name, size = struct.unpack("<4sI", chunk)
        position += 8
        yield name, position, size
        if name == b"data":
            return
        position += size + size % 2


def _block(form: bytes) -> int | None:
    """The bytes of a block, where those in a `fmt ` chunk are no whole number of samples; None where they are right."""
    if len(form) < 16:
        return None
    tag, channels, _, _, declared, bits = struct.unpack_from("<HHIIHH", form)
    if tag == _EXTENSIBLE and len(form) >= 26:
        tag = struct.unpack_from("<H", form, 24)[0]
    right: int = channels * -(-bits // 8)
    return right if tag in _PLAIN and 0 < right <= _MOST and declared % right else None
