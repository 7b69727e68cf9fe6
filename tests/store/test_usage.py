import asyncio

from openproxy.store import Store
from openproxy.store.usage import BATCH, Summary, Usage
from support.store_peer import CHEAP


def used(number=0, **changes):
    values = {
        "request_id": f"req-{number}",
        "provider": "openai",
        "model": "whisper-1",
        "status": 200,
        "attempts": 1,
        "bytes": 1000,
        "latency": 0.5,
        "audio_seconds": 2.5,
        "connection_id": "mp-1",
        "key_id": "k-1",
        "at": 1_787_000_000.0 + number,
    }
    return Usage(**(values | changes))


async def test_rows_are_written_beside_the_requests(store):
    store.usage.record(used())
    assert await store.usage.latest() == []
    await asyncio.wait_for(store.usage._writer, 10)
    assert await store.usage.latest() == [used()]


async def test_rows_that_wait_are_written_at_close(access):
    rows = [used(number) for number in range(BATCH + 50)]
    async with await Store.open(access, cost=CHEAP) as store:
        for row in rows:
            store.usage.record(row)
    async with await Store.open(access, cost=CHEAP) as store:
        assert await store.usage.latest(2 * BATCH) == rows[::-1]
        assert await store.usage.latest(2) == [rows[-1], rows[-2]]


async def test_each_row_is_written_once_while_more_come_in(store):
    rows = [used(number) for number in range(3 * BATCH)]
    for number, row in enumerate(rows):
        store.usage.record(row)
        if number % 50 == 0:
            await asyncio.sleep(0.002)
    await asyncio.gather(store.usage.flush(), store.usage.flush())
    assert await store.usage.latest(10_000) == rows[::-1]


async def test_usage_is_summed_by_provider_and_model(store):
    store.usage.record(used(0))
    store.usage.record(used(1, status=429, attempts=3, audio_seconds=None, latency=1.5))
    store.usage.record(used(2, provider="deepgram", model="nova-3", bytes=2**40))
    store.usage.record(used(3, connection_id=None, key_id=None))
    await store.usage.flush()
    assert await store.usage.summary() == [
        Summary("deepgram", "nova-3", 1, 1, 1, 2.5, 2**40, 0.5),
        Summary("openai", "whisper-1", 3, 2, 5, 5.0, 3000, 2.5 / 3),
    ]
    assert await store.usage.summary(since=1_787_000_001.0, until=1_787_000_003.0) == [
        Summary("deepgram", "nova-3", 1, 1, 1, 2.5, 2**40, 0.5),
        Summary("openai", "whisper-1", 1, 0, 3, 0.0, 1000, 1.5),
    ]
    assert await store.usage.summary(since=1_900_000_000.0) == []


async def test_old_rows_can_be_deleted(store):
    for number in range(5):
        store.usage.record(used(number))
    await store.usage.flush()
    assert await store.usage.prune(1_787_000_003.0) == 3
    assert await store.usage.latest() == [used(4), used(3)]


async def test_any_model_name_can_be_written(store):
    store.usage.record(used(model="a\0b\ud800" + "x" * 1000, request_id="é" * 500))
    await store.usage.flush()
    (row,) = await store.usage.latest()
    assert (row.model[:5], len(row.model), row.request_id) == ("a?b?x", 255, "é" * 255)


async def test_usage_leaves_the_snapshot_as_it_is(store):
    before = await store.snapshot()
    store.usage.record(used())
    await store.usage.flush()
    assert await store.snapshot() is before
