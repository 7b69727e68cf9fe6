"""ID3 tags before a recording: where they end (id3.org, ID3v2.4.0, section 3.1)."""

from openproxy.audio.source import Source

_HEAD_BYTES = 10
_FOOTER = 0x10
_MOST_TAGS = 16
_UNTAGGED = (b"RIFF", b"RF64", b"BW64", b"fLaC", b"OggS", b"FORM", b"caff", b"\x1a\x45\xdf\xa3")
"""First bytes of files that ffmpeg reads only without the tag, or (flac) without a second one."""


def length(source: Source) -> int:
    """Bytes of the tags with which `source` begins, as they declare themselves; 0 where there is none."""
    end = 0
    for _ in range(_MOST_TAGS):
        head = source.peek(end, _HEAD_BYTES)
        if len(head) < _HEAD_BYTES or head[:3] != b"ID3" or any(byte > 0x7F for byte in head[6:10]):
            break
        size = head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9]
        end += _HEAD_BYTES * (2 if head[5] & _FOOTER else 1) + size
    return end


def untagged(source: Source) -> Source:
    """What follows the tags, where ffmpeg does not look behind them itself; else `source` as it is."""
    end = length(source)
    if not 0 < end < source.size:
        return source
    begins = source.peek(end, 8)
    return source.part(end, source.size) if begins.startswith(_UNTAGGED) or begins[4:] == b"ftyp" else source
