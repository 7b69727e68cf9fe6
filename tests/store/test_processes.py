"""Several processes on one database: what one writes the others see at their next request, and a kill loses nothing."""

import asyncio
import contextlib
import sqlite3
from datetime import UTC, datetime

from openproxy.store import Store
from support.store_peer import CHEAP, Peer


async def test_what_one_process_writes_another_sees_at_its_next_request(access):
    async with await Store.open(access, cost=CHEAP) as store:
        peer = Peer(access)
        assert peer.ask("has key", "made in here") is False
        await store.keys.add("here", "made in here")
        assert peer.ask("has key", "made in here") is True
        await store.keys.update("here", is_active=False)
        assert peer.ask("has key", "made in here") is False

        key_id = peer.ask("add key", "there", "made over there")
        assert (await store.snapshot()).key("made over there").id == key_id
        await store.keys.delete("there")
        assert peer.ask("has key", "made over there") is False

        await store.settings.update(max_upload_bytes=1234)
        assert peer.ask("settings") == 1234
        assert peer.ask("session") == await store.sessions.secret()

        added = peer.ask("add connection", "groq", "main", "gsk-from-there")
        (stored,) = (await store.snapshot()).connections
        assert stored.id == added
        assert (await store.connections.open(stored)).credential == "gsk-from-there"
        peer.close()


async def test_a_refusal_seen_by_one_process_cools_the_account_in_both(access):
    async with await Store.open(access, cost=CHEAP) as store:
        peer = Peer(access)
        first = (await store.connections.add("openai", "a", api_key="1")).id
        second = (await store.connections.add("openai", "b", api_key="2")).id
        assert peer.ask("ready", "openai") == [first, second]
        await store.cooldowns.mark(first)
        assert peer.ask("ready", "openai") == [second]
        peer.ask("mark", second, 90)
        now = datetime.now(UTC)
        found = (await store.snapshot()).candidates("openai", now)
        assert (found.ready, [one.id for one in found.cooling]) == ((), [first, second])
        assert 25 < found.retry_after(now) <= 30
        peer.close()


async def test_failed_logins_are_counted_across_processes(access):
    async with await Store.open(access, cost=CHEAP) as store:
        peer = Peer(access)
        assert [await store.attempts.begin("203.0.113.7") for _ in range(3)] == [0, 0, 0]
        assert [peer.ask("attempt", "203.0.113.7") for _ in range(2)] == [0, 0]
        assert 0 < await store.attempts.begin("203.0.113.7") <= 30
        assert 0 < peer.ask("attempt", "203.0.113.7") <= 30
        peer.close()


async def test_attempts_in_two_processes_at_once_do_not_outrun_the_limit(access):
    async with await Store.open(access, cost=CHEAP) as store:
        peer = Peer(access)
        for number in range(3):
            client = f"2001:db8::{number}"
            theirs = asyncio.create_task(asyncio.to_thread(peer.ask, "attempts", client, 20))
            mine = await asyncio.gather(*(store.attempts.begin(client) for _ in range(20)))
            answers = [*mine, *await theirs]
            assert (len(answers), answers.count(0)) == (40, 5)
        peer.close()


async def test_killed_in_200_concurrent_writes_nothing_acknowledged_is_lost(access):
    for round_, survivors in enumerate((1, 40, 120)):
        peer = Peer(access)
        peer.start_writing(200)
        acknowledged = [peer.stored() for _ in range(survivors)]
        peer.kill()
        while (key_id := peer.stored()) is not None:
            acknowledged.append(key_id)
        peer.close()
        acknowledged = [key_id for key_id in acknowledged if key_id != "all written"]
        assert survivors <= len(acknowledged) <= 200
        if access.url is None:
            with contextlib.closing(sqlite3.connect(access.sqlite_path)) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        async with await Store.open(access, cost=CHEAP) as store:
            stored = {key.id for key in await store.keys.list()}
            assert set(acknowledged) <= stored, f"lost in round {round_}"
            for key in await store.keys.list():
                await store.keys.delete(key.id)
            await store.keys.add("still", "writable again")
            await store.keys.delete("still")


async def test_two_processes_write_at_once_without_losing_any(access):
    async with await Store.open(access, cost=CHEAP) as store:
        peer = Peer(access)
        peer.start_writing(60)
        mine = [(await store.keys.add(f"mine {number}")).key.id for number in range(60)]
        theirs = []
        while (key_id := peer.stored()) != "all written":
            theirs.append(key_id)
        peer.close()
        assert {key.id for key in await store.keys.list()} == {*mine, *theirs}
        assert len({*mine, *theirs}) == 120
