import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from openproxy.store import tables

NOW = datetime(2026, 8, 23, 10, 0, tzinfo=UTC)


def after(seconds):
    return NOW + timedelta(seconds=seconds)


async def ready(store, now=NOW, provider="openai"):
    return [one.name for one in (await store.snapshot()).candidates(provider, now).ready]


async def test_candidates_go_by_priority_then_by_order_of_adding(store):
    for name, priority in [("five", 5), ("none", None), ("one", 1), ("last", 999), ("none too", None), ("below", -1)]:
        await store.connections.add("openai", name, api_key="k", priority=priority)
    await store.connections.add("groq", "of another provider", api_key="k", priority=0)
    assert await ready(store) == ["below", "one", "five", "none", "last", "none too"]
    await store.connections.add("openai", "none", api_key="replaced")
    assert await ready(store) == ["below", "one", "five", "none", "last", "none too"]


async def test_candidates_are_active_and_have_a_credential(store):
    await store.connections.add("openai", "key", api_key="k", data={"mediaType": "tts"})
    await store.connections.add("openai", "token", access_token="t")
    await store.connections.add("openai", "only refresh", refresh_token="r")
    await store.connections.add("openai", "blank", api_key=" ", access_token="")
    await store.connections.add("openai", "inactive", api_key="k", is_active=False)
    assert await ready(store) == ["key", "token"]
    assert await ready(store, provider="OpenAI") == []


@pytest.mark.parametrize(
    ("until", "expected"),
    [
        ("2026-08-23T10:00:01+00:00", []),
        ("2026-08-23T10:00:01Z", []),
        ("2026-08-23T12:00:01+02:00", []),
        ("2026-08-23T10:00:00Z", ["a"]),
        ("2026-08-23T09:59:59Z", ["a"]),
        ("2026-08-23T11:00:00+02:00", ["a"]),
        ("garbage", ["a"]),
        ("", ["a"]),
        ("9999", ["a"]),
        (None, ["a"]),
    ],
)
async def test_a_cool_down_in_the_future_skips_the_connection(store, until, expected):
    added = await store.connections.add("openai", "a", api_key="k")
    await store.connections.update(added.id, rate_limited_until=until)
    assert await ready(store) == expected


async def test_ending_a_cool_down_forgets_it_and_moving_its_end_does_not(store):
    added = await store.connections.add("openai", "a", api_key="k")
    await store.cooldowns.mark(added.id, None, NOW)
    moved = await store.connections.update(added.id, rate_limited_until=after(-60))
    assert moved.backoff_level == 1
    assert await store.cooldowns.mark(added.id, None, NOW) == after(60)
    assert (await store.connections.update(added.id, rate_limited_until=None)).backoff_level == 0


async def test_retry_after_is_the_nearest_end(store):
    now = NOW
    assert (await store.snapshot()).candidates("openai", now).retry_after(now) is None
    one = await store.connections.add("openai", "a", api_key="k")
    two = await store.connections.add("openai", "b", api_key="k")
    await store.cooldowns.mark(one.id, 50, now)
    assert (await store.snapshot()).candidates("openai", now).retry_after(now) == 0
    await store.cooldowns.mark(two.id, 20.5, now)
    found = (await store.snapshot()).candidates("openai", now)
    assert (found.ready, [stored.name for stored in found.cooling]) == ((), ["a", "b"])
    assert found.retry_after(now) == 20.5
    assert await ready(store, after(30)) == ["b"]


async def test_without_a_retry_after_the_wait_doubles_up_to_five_minutes(store):
    added = await store.connections.add("openai", "a", api_key="k")
    now, waits = NOW, []
    for _ in range(6):
        until = await store.cooldowns.mark(added.id, None, now)
        waits.append((until - now).total_seconds())
        now = until
    assert waits == [30, 60, 120, 240, 300, 300]


async def test_side_by_side_refusals_are_one(store):
    added = await store.connections.add("openai", "a", api_key="k")
    ends = await asyncio.gather(*(store.cooldowns.mark(added.id, None, NOW) for _ in range(10)))
    assert set(ends) == {after(30)}
    assert await store.cooldowns.mark(added.id, None, after(29)) == after(30)
    assert await store.cooldowns.mark(added.id, None, after(30)) == after(90)


async def test_what_the_provider_asks_for_is_kept_and_never_shortened(store):
    added = await store.connections.add("openai", "a", api_key="k")
    assert await store.cooldowns.mark(added.id, 100, NOW) == after(100)
    assert await store.cooldowns.mark(added.id, 10, NOW) == after(100)
    assert await store.cooldowns.mark(added.id, None, NOW) == after(100)
    assert await store.cooldowns.mark(added.id, 1e12, NOW) == after(24 * 3600)


@pytest.mark.parametrize("seconds", [0, -5])
async def test_a_wait_of_nothing_is_none(store, seconds):
    added = await store.connections.add("openai", "a", api_key="k")
    await store.cooldowns.mark(added.id, seconds, NOW)
    assert await ready(store) == ["a"]


async def test_marking_what_is_gone_does_nothing(store):
    assert await store.cooldowns.mark("mp-gone", None, NOW) is None
    assert await store.cooldowns.mark("mp-\0", None, NOW) is None


async def test_a_success_after_the_cool_down_resets_the_wait(store):
    added = await store.connections.add("openai", "a", api_key="k")
    await store.cooldowns.mark(added.id, None, NOW)
    await store.cooldowns.mark(added.id, None, after(31))
    stored = (await store.snapshot()).connections[0]
    await store.cooldowns.recover(stored, after(60))
    assert (await store.connections.get("a")).backoff_level == 2
    await store.cooldowns.recover(stored, after(100))
    assert (await store.connections.get("a")).backoff_level == 0
    assert await store.cooldowns.mark(added.id, None, after(101)) == after(131)


async def test_a_success_that_began_before_the_refusal_does_not_end_it(store):
    added = await store.connections.add("openai", "a", api_key="k")
    await store.cooldowns.mark(added.id, None, NOW)
    seen_before = (await store.snapshot()).connections[0]
    until = await store.cooldowns.mark(added.id, 500, NOW)
    await store.cooldowns.recover(seen_before, after(60))
    assert (await store.connections.get("a")).rate_limited_until == until


async def test_a_success_without_a_cool_down_writes_nothing(store):
    await store.connections.add("openai", "a", api_key="k")
    before = await store.snapshot()
    await store.cooldowns.recover(before.connections[0], NOW)
    assert await store.snapshot() is before


async def test_a_cool_down_can_be_ended(store):
    added = await store.connections.add("openai", "a", api_key="k")
    await store.cooldowns.mark(added.id, 500, NOW)
    await store.cooldowns.clear(added.id)
    assert await ready(store) == ["a"]


async def test_a_stored_time_that_is_none_does_not_keep_from_marking(store):
    added = await store.connections.add("openai", "a", api_key="k")
    async with store._database.write() as connection:
        await connection.execute(update(tables.connections).values(rate_limited_until="soon"))
    assert await store.cooldowns.mark(added.id, None, NOW) == after(30)
