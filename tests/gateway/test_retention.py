"""Usage is forgotten after `usageDays`."""

import asyncio
import sqlite3
import time
from contextlib import closing

from openproxy.gateway import retention
from openproxy.store import Access, Store, database
from openproxy.store import usage as usage_module
from openproxy.store.usage import Usage

DAY = 86_400.0
LOCKED = "usage is not pruned: The database cannot be used now: database is locked"


def row(days_ago: float) -> Usage:
    at = time.time() - days_ago * DAY
    return Usage(f"req_{days_ago:g}", "groq", "whisper-large-v3", 200, 1, 1000, 0.5, at=at)


async def left(store: Store) -> list[str]:
    return [one.request_id for one in await store.usage.latest()]


async def until_left(store: Store, names: list[str]) -> None:
    async with asyncio.timeout(20):
        while await left(store) != names:  # noqa: ASYNC110 - it is a database that is looked at
            await asyncio.sleep(0.02)


async def test_rows_go_when_their_days_are_over(tmp_path):
    async with await Store.open(Access.from_environment(tmp_path, {})) as store:
        for days_ago in (400, 91, 89, 2, 0.5):
            store.usage.record(row(days_ago))
        await store.usage.flush()
        await store.settings.update(usage_days=0)
        async with retention.pruning(store, every=0.05):
            await asyncio.sleep(0.2)
            assert await left(store) == ["req_0.5", "req_2", "req_89", "req_91", "req_400"]
            await store.settings.update(usage_days=None)  # 90
            await until_left(store, ["req_0.5", "req_2", "req_89"])
            await store.settings.update(usage_days=1)
            await until_left(store, ["req_0.5"])


async def test_many_rows_go_a_part_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(usage_module, "PRUNED_AT_ONCE", 10)
    async with await Store.open(Access.from_environment(tmp_path, {})) as store:
        for number in range(25):
            store.usage.record(row(100 + number))
        store.usage.record(row(1))
        await store.usage.flush()
        assert await store.usage.prune(time.time() - 90 * DAY) == 25
        assert await left(store) == ["req_1"]


async def test_a_database_that_is_locked_is_tried_again(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    async with await Store.open(Access.from_environment(tmp_path, {})) as store:
        store.usage.record(row(100))
        await store.usage.flush()
        with closing(sqlite3.connect(tmp_path / "openproxy.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            async with retention.pruning(store, every=0.05):
                async with asyncio.timeout(30):
                    while LOCKED not in caplog.text:  # noqa: ASYNC110 - it is a log that is looked at
                        await asyncio.sleep(0.02)
                assert await left(store) == ["req_100"]
                other.execute("ROLLBACK")
                await until_left(store, [])
