"""Bodies cut into pieces, as a server receives them, and what they leave on disk."""

from collections.abc import AsyncIterator
from pathlib import Path


async def pieces(body: bytes, size: int = 7) -> AsyncIterator[bytes]:
    for at in range(0, len(body), size):
        yield body[at : at + size]


def kept(folder: Path) -> list[Path]:
    """The files of a folder."""
    return sorted(folder.iterdir())
