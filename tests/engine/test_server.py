import asyncio

import psutil
import pytest

from openproxy.engine import server


async def test_what_requests_have_left_free_goes_back_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SHRINK_SECONDS", 0.05)
    process = psutil.Process()
    pieces = [bytes(2000) for _ in range(50_000)]
    pinned = bytes(2000)
    del pieces
    held = process.memory_info().rss
    shrinking = asyncio.create_task(server._shrink())
    await asyncio.sleep(0.5)
    shrinking.cancel()
    assert held - process.memory_info().rss > 50_000_000
    assert len(pinned) == 2000
