import asyncio
import re
from datetime import UTC, datetime

import pytest
from sqlalchemy import update

from openproxy.errors import BadRequest, Conflict, NotFound, SecretUnreadable
from openproxy.store import Store, tables
from support.store_peer import CHEAP


async def alter(store, connection_id, **values):
    async with store._database.write() as connection:
        mine = tables.connections.c.id == connection_id
        await connection.execute(update(tables.connections).where(mine).values(values))


async def test_a_connection_is_stored_with_its_secrets_sealed(store):
    data = {"mediaType": "stt", "baseUrl": "http://127.0.0.1:9/v1", "enabledModels": ["whisper-1"], "note": "primary"}
    added = await store.connections.add("openai", " openai-stt ", api_key="sk-1", data=data)
    assert re.fullmatch(r"mp-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", added.id)
    assert (added.provider, added.name, added.auth_type) == ("openai", "openai-stt", "api_key")
    assert (added.priority, added.is_active, added.backoff_level, added.rate_limited_until) == (None, True, 0, None)
    assert added.data == data
    assert added.created_at == added.updated_at
    assert abs((datetime.now(UTC) - added.created_at).total_seconds()) < 60
    assert (added.credentialed, added.has("api_key"), added.has("access_token")) == (True, True, False)
    assert "sk-1" not in repr(added)
    assert await store.connections.get(added.id) == added
    assert (await store.snapshot()).connections == (added,)
    opened = await store.connections.open(added)
    assert (opened.api_key, opened.access_token, opened.refresh_token) == ("sk-1", None, None)
    assert opened.data == data
    assert repr(opened) == "Secrets()"


async def test_secrets_among_the_further_settings_are_sealed_too(store):
    data = {
        "mediaType": "stt",
        "clientSecret": "hush-1",
        "API_TOKEN": "hush-2",
        "headers": {"x-api-key": "hush-3", "accept": "text/plain", "deeper": [{"Password": "hush-4"}, "plain"]},
        "Authorization": "Bearer hush-5",
        "keyNumber": 12345,
        "proxyUrl": "http://user:hush-6@proxy:3128",
        "baseUrl": "https://host/v1?api_key=hush-7",
        "emptyToken": None,
    }
    added = await store.connections.add("openai", "x", api_key="sk-1", data=data)
    assert added.data == {
        "mediaType": "stt",
        "clientSecret": None,
        "API_TOKEN": None,
        "headers": {"x-api-key": None, "accept": "text/plain", "deeper": [{"Password": None}, "plain"]},
        "Authorization": None,
        "keyNumber": None,
        "proxyUrl": None,
        "baseUrl": None,
        "emptyToken": None,
    }
    assert (await store.connections.open(added)).data == data


@pytest.mark.parametrize(
    ("api_key", "access_token", "expected"),
    [
        ("sk-1", None, "sk-1"),
        ("sk-1", "at-1", "sk-1"),
        (None, "at-1", "at-1"),
        ("", "at-1", "at-1"),
        (" \n", "at-1", "at-1"),
        (" sk-1 \n", None, "sk-1"),
        (None, None, ""),
        ("  ", "", ""),
    ],
)
async def test_the_credential_is_the_first_that_is_not_blank(store, api_key, access_token, expected):
    added = await store.connections.add("openai", "x", api_key=api_key, access_token=access_token)
    assert added.credentialed is (expected != "")
    assert (await store.connections.open(added)).credential == expected


async def test_adding_again_replaces_in_place_under_a_new_id(store):
    first = await store.connections.add("openai", "a", api_key="sk-old", priority=3, data={"token": "t", "note": "n"})
    other = await store.connections.add("openai", "b", api_key="sk-b")
    await store.cooldowns.mark(first.id, 60)
    again = await store.connections.add("openai", "a", api_key="sk-new")
    assert [one.name for one in await store.connections.list()] == ["a", "b"]
    assert again.id not in (first.id, other.id)
    assert again.position == first.position
    assert (again.priority, again.data, again.rate_limited_until, again.backoff_level) == (None, {}, None, 0)
    opened = await store.connections.open(again)
    assert (opened.credential, opened.data) == ("sk-new", {})
    with pytest.raises(NotFound):
        await store.connections.update(first.id, priority=1)


async def test_the_same_name_at_another_provider_is_another_connection(store):
    await store.connections.add("openai", "main", api_key="sk-1")
    await store.connections.add("groq", "main", api_key="gsk-1")
    assert [(one.provider, one.name) for one in await store.connections.list()] == [
        ("openai", "main"),
        ("groq", "main"),
    ]
    assert [one.provider for one in await store.connections.list("groq")] == ["groq"]


async def test_adding_the_same_at_once_leaves_one(store):
    await asyncio.gather(*(store.connections.add("openai", "a", api_key=f"sk-{number}") for number in range(10)))
    assert len(await store.connections.list()) == 1


async def test_a_reference_is_an_id_then_a_name_then_a_provider(store):
    one = await store.connections.add("openai", "groq", api_key="1")
    two = await store.connections.add("groq", "b", api_key="2")
    three = await store.connections.add("groq", "c", api_key="3")
    assert await store.connections.get(two.id) == two
    assert await store.connections.get("groq") == one
    assert await store.connections.get("openai") == one
    await store.connections.delete(one.id)
    assert await store.connections.get("groq") == two
    assert await store.connections.get("c") == three


async def test_a_name_that_several_providers_have_needs_the_provider(store):
    groq = await store.connections.add("groq", "main", api_key="1")
    openai = await store.connections.add("openai", "main", api_key="2")
    with pytest.raises(Conflict) as caught:
        await store.connections.get("main")
    assert caught.value.message == ("Several connections are called 'main': groq/main, openai/main; name one of these")
    assert await store.connections.get("openai/main") == openai
    assert await store.connections.get("groq/main") == groq
    assert await store.connections.get(openai.id) == openai
    odd = await store.connections.add("deepgram", "openai/main", api_key="3")
    assert await store.connections.get("openai/main") == odd
    with pytest.raises(NotFound):
        await store.connections.get("deepgram/main")


async def test_update_changes_what_is_named(store):
    added = await store.connections.add("openai", "a", api_key="sk-1", access_token="at-1", data={"note": "n"})
    changed = await store.connections.update(added.id, priority=2, is_active=False, name="b")
    assert (changed.id, changed.name, changed.priority, changed.is_active) == (added.id, "b", 2, False)
    assert changed.updated_at >= added.updated_at
    assert changed.created_at == added.created_at
    changed = await store.connections.update(added.id, api_key="sk-2", access_token="")
    opened = await store.connections.open(changed)
    assert (opened.api_key, opened.access_token) == ("sk-2", None)
    assert changed.data == {"note": "n"}
    changed = await store.connections.update(added.id, priority=None, data={"other": [1, 2.5, None, True]})
    assert (changed.priority, changed.data) == (None, {"other": [1, 2.5, None, True]})


async def test_settings_read_without_secrets_can_be_written_back(store):
    added = await store.connections.add(
        "openai", "a", api_key="sk-1", data={"token": "t", "deep": {"key": "k"}, "n": 1}
    )
    changed = await store.connections.update(added.id, data={**added.data, "n": 2})
    assert changed.data == {"token": None, "deep": {"key": None}, "n": 2}
    assert (await store.connections.open(changed)).data == {"token": "t", "deep": {"key": "k"}, "n": 2}
    changed = await store.connections.update(added.id, data={"token": "new", "n": 3})
    assert (await store.connections.open(changed)).data == {"token": "new", "n": 3}
    changed = await store.connections.update(added.id, data={})
    assert "sealed_data" not in changed.sealed


async def test_renaming_onto_another_is_a_conflict(store):
    await store.connections.add("openai", "a", api_key="1")
    other = await store.connections.add("openai", "b", api_key="2")
    with pytest.raises(Conflict) as caught:
        await store.connections.update(other.id, name="a")
    assert (caught.value.status, caught.value.message) == (409, "There is a connection 'a' of openai already")
    assert [one.name for one in await store.connections.list()] == ["a", "b"]
    assert (await store.connections.update(other.id, name="b")).name == "b"


async def test_delete_tells_whether_there_was_one(store):
    added = await store.connections.add("openai", "a", api_key="1")
    assert await store.connections.delete(added.id) is True
    assert await store.connections.delete(added.id) is False
    assert await store.connections.delete("mp-\0") is False
    assert await store.connections.list() == []


@pytest.mark.parametrize(
    ("provider", "name", "message"),
    [
        ("", "a", "Provider is required"),
        ("openai", "  ", "Name is required"),
        ("openai", "x" * 256, "Name is longer than 255 characters"),
        ("openai", "a\0b", "Name holds characters that cannot be stored"),
        ("openai", "a\ud800", "Name holds characters that cannot be stored"),
        ("openai", "a\nb", "Name holds characters that cannot be stored"),
    ],
)
async def test_names_that_cannot_be_are_refused(store, provider, name, message):
    with pytest.raises(BadRequest) as caught:
        await store.connections.add(provider, name, api_key="1")
    assert caught.value.message == message
    assert await store.connections.list() == []


async def test_odd_text_in_secrets_and_settings_is_kept(store):
    data = {"note": "zażółć\0\ud800 🎧", "x token": "\0\ud800"}
    added = await store.connections.add("openai", "会议 'quoted\"", api_key="sk-\0é", data=data)
    opened = await store.connections.open(await store.connections.get("会议 'quoted\""))
    assert (opened.api_key, opened.data) == ("sk-\0é", data)
    assert added.name == "会议 'quoted\""


async def test_numbers_that_cannot_be_are_refused(store):
    with pytest.raises(BadRequest, match="providerSpecificData"):
        await store.connections.add("openai", "a", api_key="1", data={"x": float("nan")})
    with pytest.raises(BadRequest, match="priority"):
        await store.connections.add("openai", "a", api_key="1", priority=2**40)


@pytest.mark.parametrize(("column", "wire"), [("api_key", "apiKey"), ("sealed_data", "providerSpecificData")])
async def test_an_altered_secret_is_an_error_that_names_the_connection(store, column, wire):
    added = await store.connections.add("openai", "main", api_key="sk-1", data={"token": "t"})
    record = added.sealed[column]
    altered = record[:-8] + ("A" if record[-8] != "A" else "B") + record[-7:]
    await alter(store, added.id, **{column: altered})
    stored = (await store.snapshot()).connections[0]
    with pytest.raises(SecretUnreadable) as caught:
        await store.connections.open(stored)
    assert caught.value.status == 401
    assert caught.value.message == (
        f"The {wire} of connection 'main' ({added.id}) cannot be decrypted: it was altered, or sealed under another key"
    )
    assert (await store.connections.get("main")).sealed[column] == altered


async def test_a_record_moved_to_another_connection_does_not_open(store):
    one = await store.connections.add("openai", "one", api_key="sk-one")
    two = await store.connections.add("openai", "two", api_key="sk-two")
    await store.connections.open(one)
    await alter(store, two.id, api_key=one.sealed["api_key"])
    with pytest.raises(SecretUnreadable, match="connection 'two'"):
        await store.connections.open(await store.connections.get("two"))


async def test_plain_text_in_the_place_of_a_record_is_never_sent(store):
    added = await store.connections.add("openai", "main", api_key="sk-1")
    await alter(store, added.id, api_key="sk-written-by-hand")
    with pytest.raises(SecretUnreadable):
        await store.connections.open(await store.connections.get("main"))


async def test_calls_that_are_cancelled_leave_the_store_working(store):
    for number, delay in enumerate((0.0, 0.0002, 0.0005, 0.001, 0.002, 0.004) * 8):
        calls = (store.connections.add("openai", f"number {number}", api_key="1"), store.snapshot(), store.keys.list())
        tasks = [asyncio.create_task(call) for call in calls]
        await asyncio.sleep(delay)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    added = await store.connections.add("openai", "last", api_key="2")
    assert added in (await store.snapshot()).connections


async def test_a_write_that_has_begun_is_finished_though_its_client_goes_away(access):
    async with await Store.open(access, cost=CHEAP) as store:
        task = asyncio.create_task(store.connections.add("openai", "main", api_key="1"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with await Store.open(access, cost=CHEAP) as store:
        assert [one.name for one in await store.connections.list()] == ["main"]


async def test_what_was_decrypted_is_known_until_the_secret_changes(store):
    added = await store.connections.add("openai", "a", api_key="sk-1", data={"token": "hush", "note": "n"})
    assert store.connections.known(added) is None
    opened = await store.connections.open(added)
    assert store.connections.known(added) == opened
    assert opened.data == {"token": "hush", "note": "n"}
    changed = await store.connections.update(added.id, api_key="sk-2")
    assert store.connections.known(changed) is None
    assert (await store.connections.open(changed)).credential == "sk-2"
    await alter(store, added.id, sealed_data=None)
    assert store.connections.known(await store.connections.get(added.id)).data["token"] is None
