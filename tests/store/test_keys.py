import asyncio
import hashlib
import re

import pytest

from openproxy.errors import BadRequest, Conflict, NotFound
from openproxy.store.keys import mask


async def test_a_generated_key_is_shown_once(store):
    made = await store.keys.add("ci")
    assert re.fullmatch(r"op-[0-9a-f]{48}", made.secret)
    assert made.key.mask == f"{made.secret[:4]}…{made.secret[-4:]}"
    assert made.key.digest == hashlib.sha256(made.secret.encode()).hexdigest()
    assert (made.key.name, made.key.is_active) == ("ci", True)
    assert made.secret not in repr(made)
    assert await store.keys.list() == [made.key]
    assert (await store.snapshot()).key(made.secret) == made.key


async def test_a_supplied_secret_is_taken_verbatim(store):
    made = await store.keys.add("ci", "Zażółć-8")
    assert made.secret == "Zażółć-8"
    snapshot = await store.snapshot()
    assert snapshot.key("Zażółć-8") == made.key
    for wrong in ("zażółć-8", "Zażółć-8 ", "", "Zażółć-", made.key.digest, made.key.mask, "\ud800"):
        assert snapshot.key(wrong) is None


@pytest.mark.parametrize(
    ("secret", "message"),
    [
        ("", "A key needs 8 characters or more"),
        ("1234567", "A key needs 8 characters or more"),
        (" 12345678", "A key that begins or ends with white space or holds control characters cannot be sent"),
        ("1234\n5678", "A key that begins or ends with white space or holds control characters cannot be sent"),
        ("1234\x005678", "A key that begins or ends with white space or holds control characters cannot be sent"),
    ],
)
async def test_a_secret_that_cannot_work_is_refused(store, secret, message):
    with pytest.raises(BadRequest) as caught:
        await store.keys.add("ci", secret)
    assert (caught.value.message, caught.value.param) == (message, "key")


async def test_a_blank_name_is_refused(store):
    with pytest.raises(BadRequest, match="Name is required"):
        await store.keys.add(" ")


@pytest.mark.parametrize(
    ("secret", "expected"),
    [
        ("sk-1234567890abcdef", "sk-1…cdef"),
        ("short", "•••••"),
        ("123456789012345", "•" * 15),
        ("1234567890123456", "1234…3456"),
    ],
)
def test_masks(secret, expected):
    assert mask(secret) == expected


async def test_the_same_secret_twice_is_a_conflict(store):
    await store.keys.add("one", "the very same")
    with pytest.raises(Conflict) as caught:
        await store.keys.add("two", "the very same")
    assert (caught.value.status, caught.value.message) == (409, "There is a key with this secret already")
    assert [key.name for key in await store.keys.list()] == ["one"]


async def test_names_may_repeat_and_the_first_is_meant(store):
    first = await store.keys.add("ci")
    second = await store.keys.add("ci")
    assert await store.keys.get("ci") == first.key
    assert await store.keys.get(second.key.id) == second.key
    assert await store.keys.delete("ci") == 2
    assert await store.keys.delete("ci") == 0
    assert await store.keys.list() == []


async def test_an_id_wins_over_a_name(store):
    first = await store.keys.add("a")
    await store.keys.add(first.key.id)
    assert await store.keys.get(first.key.id) == first.key
    assert await store.keys.delete(first.key.id) == 1
    assert [key.name for key in await store.keys.list()] == [first.key.id]


async def test_rotating_stops_the_old_secret(store):
    old = await store.keys.add("ci")
    new = await store.keys.rotate("ci")
    assert new.secret != old.secret
    assert (new.key.id, new.key.name, new.key.created_at) == (old.key.id, "ci", old.key.created_at)
    snapshot = await store.snapshot()
    assert snapshot.key(old.secret) is None
    assert snapshot.key(new.secret) == new.key


async def test_a_disabled_key_is_still_known(store):
    made = await store.keys.add("ci")
    assert (await store.keys.update("ci", is_active=False)).is_active is False
    assert (await store.snapshot()).key(made.secret).is_active is False
    assert (await store.keys.update("ci", is_active=True, name="renamed")).name == "renamed"
    assert (await store.snapshot()).key(made.secret).is_active is True


@pytest.mark.parametrize("reference", ["nobody", "", "\0", "\ud800", "x" * 5000])
async def test_an_unknown_key_is_not_found(store, reference):
    with pytest.raises(NotFound) as caught:
        await store.keys.get(reference)
    assert caught.value.message == f"key '{reference}' not found"
    with pytest.raises(NotFound):
        await store.keys.rotate(reference)
    with pytest.raises(NotFound):
        await store.keys.update(reference, is_active=True)
    assert await store.keys.delete(reference) == 0


async def test_ensure_makes_one_key_of_a_name(store):
    await store.keys.add("other")
    made = await asyncio.gather(*(store.keys.ensure("admin") for _ in range(5)))
    assert len([one for one in made if one is not None]) == 1
    assert [key.name for key in await store.keys.list()] == ["other", "admin"]
