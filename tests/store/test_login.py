import asyncio
import re

import pytest
from sqlalchemy import select

from openproxy.errors import BadRequest
from openproxy.store import tables

START = 1_787_000_000.0


async def test_the_password_is_an_argon2id_hash(store):
    assert await store.password.is_set() is False
    assert await store.password.verify("") is False
    await store.password.set("zażółć 🎧")
    async with store._database.read() as connection:
        hashed = (await connection.execute(select(tables.login.c.password_hash))).scalar_one()
    assert hashed.startswith("$argon2id$v=19$m=8,t=1,p=1$")
    assert await store.password.is_set() is True
    assert await store.password.verify("zażółć 🎧") is True
    for wrong in ("zazolc", "", "zażółć 🎧 ", "x" * 5000, "\0", "\ud800"):
        assert await store.password.verify(wrong) is False


@pytest.mark.parametrize("password", ["", "x" * 1025])
async def test_passwords_that_cannot_be(store, password):
    with pytest.raises(BadRequest, match="Password is"):
        await store.password.set(password)


async def test_a_minted_password_asks_for_another(store):
    minted = await store.password.reset()
    assert re.fullmatch(r"[0-9A-Za-z]{20}", minted)
    assert await store.password.verify(minted)
    assert await store.password.must_change() is True
    await store.password.set("my own")
    assert await store.password.must_change() is False
    assert await store.password.verify(minted) is False


async def test_the_first_password_is_minted_once(store):
    minted = [one for one in await asyncio.gather(*(store.password.ensure() for _ in range(4))) if one is not None]
    assert len(minted) == 1
    assert await store.password.verify(minted[0])
    await store.password.clear()
    assert await store.password.is_set() is False
    assert await store.password.ensure("from outside") == "from outside"
    assert await store.password.ensure("another") is None
    assert await store.password.verify("from outside")


async def test_the_session_secret_is_one_until_the_password_changes(store):
    first = await store.sessions.secret()
    assert re.fullmatch(r"[0-9a-f]{64}", first)
    assert await store.sessions.secret() == first
    async with store._database.read() as connection:
        record = (await connection.execute(select(tables.login.c.session_secret))).scalar_one()
    assert record.startswith("sealed.1.")
    await store.password.set("another")
    second = await store.sessions.secret()
    assert second != first
    await store.sessions.end_all()
    assert await store.sessions.secret() not in (first, second)


async def attempt(store, now, times=1, client="203.0.113.7"):
    return [await store.attempts.begin(client, now) for _ in range(times)]


async def test_five_failures_lock_for_thirty_seconds(store):
    assert await attempt(store, START, 5) == [0] * 5
    assert await attempt(store, START, 2) == [30, 30]
    assert await store.attempts.locked("203.0.113.7", START + 10.5) == 20
    assert await attempt(store, START + 29.5) == [1]
    assert await store.attempts.locked("203.0.113.7", START + 30) == 0
    assert await attempt(store, START + 30) == [0]
    assert await attempt(store, START, client="198.51.100.1") == [0]


async def test_each_further_lock_is_longer(store):
    now, locks = START, []
    for _ in range(6):
        assert await attempt(store, now, 5) == [0] * 5
        locks.append(await store.attempts.locked("203.0.113.7", now))
        now += locks[-1]
    assert locks == [30, 120, 600, 1800, 1800, 1800]


async def test_two_wrong_attempts_leave_the_third_free(store):
    await attempt(store, START, 2)
    assert await attempt(store, START) == [0]


async def test_a_success_forgets_the_failures(store):
    await attempt(store, START, 5)
    await store.attempts.succeeded("203.0.113.7")
    assert await attempt(store, START, 5) == [0] * 5
    assert await attempt(store, START) == [30]


async def test_failures_age_out_after_an_hour(store):
    await attempt(store, START, 5)
    await attempt(store, START + 30, 4)
    later = START + 30 + 3601
    assert await attempt(store, later, 5) == [0] * 5
    assert await attempt(store, later) == [30]
    async with store._database.read() as connection:
        assert len((await connection.execute(select(tables.login_attempts))).all()) == 1


async def test_attempts_side_by_side_do_not_outrun_the_limit(store):
    answers = await asyncio.gather(*(store.attempts.begin("203.0.113.7", START) for _ in range(40)))
    assert sorted(answers) == [0] * 5 + [30] * 35


async def test_any_client_name_is_counted(store):
    for client in ("", "\0", "\ud800", "é" * 1000, "::1"):
        assert await attempt(store, START, 6, client) == [0] * 5 + [30]
        await store.attempts.succeeded(client)
        assert await store.attempts.locked(client, START) == 0
