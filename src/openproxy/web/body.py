"""A request's body as chunks of bytes: counted against a limit, read whole, or thrown away."""

import asyncio
from collections.abc import AsyncIterator

from openproxy.errors import Stalled, UploadTooLarge


def declared_length(value: str | None) -> int | None:
    """Bytes that a Content-Length header promises; None where there is none, or none that can be read."""
    if value is None or not (value.isascii() and value.isdigit()):
        return None
    return int(value) if len(value) < 20 else 10**19


async def limited(
    chunks: AsyncIterator[bytes], limit: int | None, *, declared: int | None = None
) -> AsyncIterator[bytes]:
    """The chunks as they come. Raises UploadTooLarge as soon as `declared` or what was read is beyond `limit` bytes."""
    if limit is not None and declared is not None and declared > limit:
        raise too_large(limit)
    seen = 0
    async for chunk in chunks:
        seen += len(chunk)
        if limit is not None and seen > limit:
            raise too_large(limit)
        yield chunk


async def timely(chunks: AsyncIterator[bytes], seconds: float) -> AsyncIterator[bytes]:
    """The chunks as they come. Raises Stalled where none comes for so long."""
    while True:
        try:
            async with asyncio.timeout(seconds):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Stalled.after(seconds) from None
        yield chunk


def too_large(limit: int) -> UploadTooLarge:
    """The error for a body beyond `limit` bytes (contracts/gateway.md, decision 4)."""
    return UploadTooLarge(f"Body too large: the limit is {limit} bytes")


async def discard(chunks: AsyncIterator[bytes], *, max_bytes: int, seconds: float = 3.0) -> None:
    """Read on without keeping anything, for at most so many bytes and seconds.

    A connection that is closed while the client still sends is reset, and the client may lose the answer with it.
    """
    left = max_bytes
    try:
        async with asyncio.timeout(seconds):
            async for chunk in chunks:
                left -= len(chunk)
                if left < 0:
                    return
    except TimeoutError:
        return
