import asyncio
import time
from datetime import UTC, datetime

import pytest

from openproxy.errors import Unavailable
from openproxy.store import Access, Store
from support.store_peer import CHEAP


async def test_a_snapshot_stays_the_same_while_nothing_is_written(store):
    await store.keys.add("ci")
    first = await store.snapshot()
    assert await store.snapshot() is first
    await store.attempts.begin("203.0.113.7")
    assert await store.snapshot() is first


async def test_every_write_of_this_process_is_in_the_next_snapshot(store):
    snapshot = await store.snapshot()
    writes = [
        lambda: store.keys.add("ci", "12345678"),
        lambda: store.keys.update("ci", is_active=False),
        lambda: store.keys.rotate("ci"),
        lambda: store.connections.add("openai", "a", api_key="k"),
        lambda: store.combos.add("c", []),
        lambda: store.aliases.set("a", "b/c"),
        lambda: store.settings.update(require_login=False),
        lambda: store.aliases.delete("a"),
        lambda: store.combos.delete("c"),
        lambda: store.keys.delete("ci"),
    ]
    for write in writes:
        await write()
        newer = await store.snapshot()
        assert newer.revision != snapshot.revision
        assert newer != snapshot
        snapshot = newer
    assert (snapshot.keys, dict(snapshot.combos), dict(snapshot.aliases)) == ((), {}, {})
    assert [one.name for one in snapshot.connections] == ["a"]
    assert snapshot.settings.require_login is False


async def test_two_stores_of_one_process_see_each_other_at_once(access):
    async with await Store.open(access, cost=CHEAP) as one, await Store.open(access, cost=CHEAP) as other:
        for number in range(10):
            made = await one.keys.add(f"from one {number}")
            assert (await other.snapshot()).key(made.secret) == made.key
            added = await other.connections.add("openai", f"from other {number}", api_key=f"sk-{number}")
            (found,) = [stored for stored in (await one.snapshot()).connections if stored.id == added.id]
            assert (await one.connections.open(found)).credential == f"sk-{number}"


async def test_a_request_never_gets_what_is_older_than_itself(access):
    async with await Store.open(access, cost=CHEAP) as one, await Store.open(access, cost=CHEAP) as other:

        async def write_then_read(number):
            made = await one.keys.add(f"key {number}")
            return (await other.snapshot()).key(made.secret) == made.key

        assert all(await asyncio.gather(*(write_then_read(number) for number in range(40))))


async def test_no_secret_is_in_a_snapshot(store):
    made = await store.keys.add("ci", "the-proxy-key")
    await store.connections.add("openai", "a", api_key="sk-hidden", data={"token": "t-hidden", "note": "shown"})
    snapshot = await store.snapshot()
    assert snapshot.key(made.secret) == made.key
    shown = f"{snapshot!r} {[one.sealed for one in snapshot.connections]}"
    assert "shown" in shown
    assert "hidden" not in shown
    assert "the-proxy-key" not in shown


async def test_a_snapshot_cannot_be_changed(store):
    await store.combos.add("c", [])
    snapshot = await store.snapshot()
    with pytest.raises(TypeError):
        snapshot.combos["d"] = snapshot.combos["c"]
    with pytest.raises(AttributeError):
        snapshot.revision = 1


async def test_the_check_is_cheap(store):
    await store.connections.add("openai", "a", api_key="k")
    await store.snapshot()
    began, times = time.perf_counter(), 200
    for _ in range(times):
        await store.snapshot()
    each = (time.perf_counter() - began) / times
    # Some 0.004 ms for SQLite and 0.3 ms for a round trip on an idle machine; the bounds leave room for a busy one.
    assert each < (0.0005 if store._database.path else 0.02)


async def test_a_closed_database_is_unavailable_not_a_crash(store):
    await store.snapshot()
    await store.close()
    if store._database.path is not None:
        store._database.path.unlink()
    with pytest.raises(Unavailable):
        await asyncio.wait_for(_use(store), 20)


async def test_a_restart_of_the_database_server_costs_no_request(tmp_path, postgres_server):
    access = Access(tmp_path, postgres_server.empty_database())
    async with await Store.open(access, cost=CHEAP) as store:
        made = await store.keys.add("ci")
        await asyncio.gather(*(store.keys.list() for _ in range(4)))
        postgres_server.disconnect_all()
        assert (await store.snapshot()).keys == (made.key,)
        assert (await store.keys.add("after")).key in (await store.snapshot()).keys


async def _use(store):
    # A closed engine connects anew when it is asked, so that only a missing table or file tells.
    if store._database.path is None:
        from sqlalchemy import text

        async with store._database.write(announce=False) as connection:
            await connection.execute(text("DROP TABLE revision"))
    return (await store.snapshot()).candidates("openai", datetime.now(UTC))
