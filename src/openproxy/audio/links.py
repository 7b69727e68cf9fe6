"""The links of a chained Ogg file: recordings one after another, each with headers of its own (RFC 3533, section 4).

ffmpeg reads such a file only as far as its links are alike, and stops where rate, channels or encoding change.
"""

import re
from collections.abc import Iterator

from openproxy.audio.source import Source

_PAGE = b"OggS"
_FIRST_PAGE = re.compile(rb"OggS\x00[\x02\x06]")
"""The first page of a logical stream, which may be its last one too."""
_HEADER_BYTES = 27
_BLOCK_BYTES = 1 << 20
_MOST_LINKS = 1000
"""Beyond it what follows counts as the last link."""


def links(source: Source) -> list[Source]:
    """Each link of a chained Ogg file; `source` itself where it is anything else."""
    if source.peek(0, len(_PAGE)) != _PAGE:
        return [source]
    starts = [0]
    end_of_page = 0
    for position in _first_pages(source):
        # The first pages of streams that play at the same time follow one another without a gap.
        if position > end_of_page:
            starts.append(position)
            if len(starts) == _MOST_LINKS:
                break
        end_of_page = position + _page_bytes(source, position)
    if len(starts) == 1:
        return [source]
    return [source.part(start, end) for start, end in zip(starts, [*starts[1:], source.size], strict=True)]


def _first_pages(source: Source) -> Iterator[int]:
    """Where the first pages of streams begin, in their order."""
    overlap = len(_PAGE) + 1
    for offset in range(0, source.size, _BLOCK_BYTES):
        for found in _FIRST_PAGE.finditer(source.peek(offset, _BLOCK_BYTES + overlap)):
            yield offset + found.start()


def _page_bytes(source: Source, position: int) -> int:
    """The length of the page at `position`: its header, its table of segments, and these."""
    segments = source.peek(position + _HEADER_BYTES - 1, 1)
    sizes = source.peek(position + _HEADER_BYTES, segments[0] if segments else 0)
    return _HEADER_BYTES + len(sizes) + sum(sizes)
