import asyncio
from collections.abc import AsyncIterator

import pytest

from openproxy.errors import UploadTooLarge
from openproxy.web.body import declared_length, discard, limited
from support.forms import pieces


@pytest.mark.parametrize(
    ("value", "length"),
    [
        ("0", 0),
        ("98874", 98874),
        (None, None),
        ("", None),
        ("-1", None),
        ("1e3", None),
        ("٣", None),
        ("9" * 5000, 10**19),
    ],
)
def test_content_length(value: str | None, length: int | None) -> None:
    assert declared_length(value) == length


async def test_a_body_within_its_limit_passes_as_it_is() -> None:
    assert [chunk async for chunk in limited(pieces(b"0123456789", 4), 10, declared=10)] == [b"0123", b"4567", b"89"]


@pytest.mark.parametrize("declared", [None, 11])
async def test_a_body_beyond_its_limit_is_refused(declared: int | None) -> None:
    with pytest.raises(UploadTooLarge, match=r"^Body too large: the limit is 10 bytes$"):
        async for _ in limited(pieces(b"0123456789x", 4), 10, declared=declared):
            pass


async def test_discarding_ends_at_its_bytes_and_at_its_time() -> None:
    taken: list[int] = []

    async def endless(pause: float) -> AsyncIterator[bytes]:
        while True:
            taken.append(1)
            yield b"x" * 100
            await asyncio.sleep(pause)

    await discard(endless(0.0), max_bytes=1000)
    assert len(taken) == 11
    taken.clear()
    await discard(endless(60.0), max_bytes=1000, seconds=0.05)
    assert len(taken) == 1
    await discard(pieces(b"all of it"), max_bytes=1000)
