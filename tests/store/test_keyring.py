from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, update

from openproxy.errors import BadRequest, SecretUnreadable, StoreUnusable
from openproxy.store import Access, Cost, Store, key_file, tables
from openproxy.store.keyring import Keyring
from support.store_peer import CHEAP, Peer


def with_passphrase(access, passphrase):
    return Access(access.data_dir, access.url, passphrase)


async def refused(access):
    with pytest.raises(StoreUnusable) as caught:
        await Store.open(access, cost=CHEAP)
    return caught.value.message


async def filled(access):
    async with await Store.open(access, cost=CHEAP) as store:
        return (await store.connections.add("openai", "main", api_key="sk-main", data={"token": "t-1"})).id


async def credential(access):
    async with await Store.open(access, cost=CHEAP) as store:
        return (await store.connections.open(await store.connections.get("main"))).credential


async def test_the_key_file_holds_32_bytes_and_is_made_once(access):
    await filled(access)
    key = (access.data_dir / "secret.key").read_bytes()
    assert len(key) == 32
    assert await credential(access) == "sk-main"
    assert (access.data_dir / "secret.key").read_bytes() == key
    assert [path.name for path in access.data_dir.glob("secret.key*")] == ["secret.key"]


async def test_a_passphrase_needs_no_key_file(access):
    access = with_passphrase(access, "correct horse")
    await filled(access)
    assert await credential(access) == "sk-main"
    assert not (access.data_dir / "secret.key").exists()


async def test_another_passphrase_is_refused(access):
    await filled(with_passphrase(access, "correct horse"))
    assert await refused(with_passphrase(access, "wrong horse")) == (
        "OPENPROXY_ENCRYPTION_KEY is not the key that sealed the secrets in this database"
    )


async def test_a_new_database_holds_to_its_first_key_before_any_secret(access):
    await (await Store.open(with_passphrase(access, "first"), cost=CHEAP)).close()
    assert "is not the key" in await refused(with_passphrase(access, "second"))


async def test_a_missing_passphrase_is_refused_and_makes_no_key_file(access):
    await filled(with_passphrase(access, "correct horse"))
    assert await refused(access) == (
        "The secrets in this database are sealed with OPENPROXY_ENCRYPTION_KEY, which is not set"
    )
    assert not (access.data_dir / "secret.key").exists()


async def test_a_missing_key_file_is_refused_and_not_made_anew(access):
    await filled(access)
    (access.data_dir / "secret.key").unlink()
    assert await refused(access) == (
        "The key file secret.key is missing from the data directory: "
        "the secrets in this database are sealed with it, put it back"
    )
    assert not (access.data_dir / "secret.key").exists()


async def test_another_key_file_is_refused(access):
    await filled(access)
    (access.data_dir / "secret.key").write_bytes(b"x" * 32)
    assert await refused(access) == ("The key file secret.key is not the key that sealed the secrets in this database")


@pytest.mark.parametrize("content", [b"", b"x" * 31, b"x" * 33])
async def test_a_damaged_key_file_is_refused(access, content):
    await filled(access)
    (access.data_dir / "secret.key").write_bytes(content)
    assert await refused(access) == f"The key file secret.key holds {len(content)} bytes instead of 32"


async def test_a_passphrase_beside_a_key_file_is_refused(access):
    await filled(access)
    assert await refused(with_passphrase(access, "correct horse")) == (
        "The secrets in this database are sealed with the key file secret.key, but OPENPROXY_ENCRYPTION_KEY is set: "
        "unset it, or change the key with `openproxy secrets rotate`"
    )


async def test_without_verification_the_wrong_key_is_refused_at_the_first_secret(access):
    connection_id = await filled(with_passphrase(access, "correct horse"))
    wrong = with_passphrase(access, "wrong horse")
    async with await Store.open(wrong, cost=CHEAP, verify_key=False) as store:
        assert [one.id for one in await store.connections.list()] == [connection_id]
        await store.keys.add("needs no key")
        with pytest.raises(StoreUnusable, match="is not the key"):
            await store.connections.open(await store.connections.get("main"))
        with pytest.raises(StoreUnusable, match="is not the key"):
            await store.connections.add("groq", "other", api_key="gsk-1")
    assert await credential(with_passphrase(access, "correct horse")) == "sk-main"


async def test_the_cost_of_a_key_is_kept_with_it(access):
    access = with_passphrase(access, "correct horse")
    async with await Store.open(access, cost=Cost(time=2, memory_kib=64, lanes=2)) as store:
        await store.connections.add("openai", "main", api_key="sk-main")
    assert await credential(access) == "sk-main"


async def cut_off(database, ring):
    async with database.write() as connection:
        await ring.in_force(connection)
        raise ZeroDivisionError


async def test_a_key_that_was_made_in_a_failed_write_is_forgotten(access):
    async with await Store.open(access, cost=CHEAP, verify_key=False) as store:
        database = store._database
        ring = Keyring(database, access, CHEAP)
        with pytest.raises(ZeroDivisionError):
            await cut_off(database, ring)
        added = await store.connections.add("openai", "main", api_key="sk-main")
        assert await ring.unseal(added.sealed["api_key"], added.place("api_key")) == "sk-main"


async def test_rotation_reseals_every_secret_under_a_new_key_file(access):
    async with await Store.open(access, cost=CHEAP) as store:
        first = await store.connections.add("openai", "a", api_key="sk-a", data={"clientSecret": "c", "note": "n"})
        second = await store.connections.add("groq", "b", access_token="at-b", refresh_token="rt-b")
        session = await store.sessions.secret()
        before = (access.data_dir / "secret.key").read_bytes()
        assert await store.rotate() == 5
        async with store._database.read() as connection:
            assert (await connection.execute(select(tables.seal_keys.c.version))).scalars().all() == [2]
        assert (access.data_dir / "secret.key").read_bytes() != before
        snapshot = await store.snapshot()
        assert {record.split(".")[1] for one in snapshot.connections for record in one.sealed.values()} == {"2"}
        one, two = [await store.connections.open(stored) for stored in snapshot.connections]
        assert (one.api_key, dict(one.data)) == ("sk-a", {"clientSecret": "c", "note": "n"})
        assert (two.access_token, two.refresh_token) == ("at-b", "rt-b")
        assert [stored.id for stored in snapshot.connections] == [first.id, second.id]
        assert await store.sessions.secret() == session
        third = await store.connections.add("openai", "c", api_key="sk-c")
        assert third.sealed["api_key"].startswith("sealed.2.")
    assert [path.name for path in access.data_dir.glob("secret.key*")] == ["secret.key"]
    async with await Store.open(access, cost=CHEAP) as store:
        assert (await store.connections.open(await store.connections.get("c"))).credential == "sk-c"
        assert (await store.connections.open(await store.connections.get("a"))).credential == "sk-a"


async def test_rotation_from_key_file_to_passphrase_and_back(access):
    await filled(access)
    async with await Store.open(access, cost=CHEAP) as store:
        assert await store.rotate("correct horse") == 2
        assert (await store.connections.open(await store.connections.get("main"))).credential == "sk-main"
    changed = with_passphrase(access, "correct horse")
    assert await credential(changed) == "sk-main"
    assert "which is not set" in await refused(access)
    async with await Store.open(changed, cost=CHEAP) as store:
        assert await store.rotate("other horse") == 2
    assert "is not the key" in await refused(changed)
    async with await Store.open(with_passphrase(access, "other horse"), cost=CHEAP) as store:
        assert await store.rotate() == 2
    assert await credential(access) == "sk-main"


async def test_rotation_stops_at_a_secret_that_does_not_open_and_changes_nothing(access):
    async with await Store.open(access, cost=CHEAP) as store:
        await store.connections.add("openai", "sound", api_key="sk-sound")
        broken = await store.connections.add("openai", "broken", api_key="sk-broken")
        record = broken.sealed["api_key"]
        altered = record[:-6] + ("AAAAAA" if not record.endswith("AAAAAA") else "BBBBBB")
        async with store._database.write() as connection:
            await connection.execute(
                update(tables.connections).where(tables.connections.c.id == broken.id).values(api_key=altered)
            )
        before = await store.connections.list()
        with pytest.raises(SecretUnreadable, match="connection 'broken'"):
            await store.rotate()
        assert await store.connections.list() == before
        assert (await store.connections.open(await store.connections.get("sound"))).credential == "sk-sound"
    async with await Store.open(access, cost=CHEAP) as store:
        assert (await store.connections.open(await store.connections.get("sound"))).credential == "sk-sound"


async def test_a_rotation_cut_off_after_its_commit_is_finished_by_the_next_start(access):
    await filled(access)
    old = (access.data_dir / "secret.key").read_bytes()
    async with await Store.open(access, cost=CHEAP) as store:
        await store.rotate()
    new = (access.data_dir / "secret.key").read_bytes()
    (access.data_dir / "secret.key").write_bytes(old)
    (access.data_dir / "secret.key.next").write_bytes(new)
    assert await credential(access) == "sk-main"
    assert (access.data_dir / "secret.key").read_bytes() == new
    assert not (access.data_dir / "secret.key.next").exists()


async def test_a_rotation_cut_off_before_its_commit_changes_nothing(access):
    await filled(access)
    key_file.prepare_next(access.data_dir)
    assert await credential(access) == "sk-main"
    async with await Store.open(access, cost=CHEAP) as store:
        await store.rotate()
    assert await credential(access) == "sk-main"


async def test_a_blank_new_passphrase_is_refused(access):
    async with await Store.open(access, cost=CHEAP) as store:
        with pytest.raises(BadRequest, match="blank"):
            await store.rotate("  ")


async def test_another_process_takes_up_a_rotated_key_file(access):
    connection_id = await filled(access)
    peer = Peer(access)
    assert peer.ask("secret", connection_id) == "sk-main"
    async with await Store.open(access, cost=CHEAP) as store:
        await store.rotate()
        assert peer.ask("secret", connection_id) == "sk-main"
        added = peer.ask("add connection", "groq", "late", "gsk-late")
        assert (await store.connections.open(await store.connections.get(added))).credential == "gsk-late"
    peer.close()


async def test_another_process_is_told_when_the_passphrase_has_changed(access):
    access = with_passphrase(access, "correct horse")
    connection_id = await filled(access)
    peer = Peer(access)
    async with await Store.open(access, cost=CHEAP) as store:
        await store.rotate("other horse")
        refusal = {"error": "OPENPROXY_ENCRYPTION_KEY is not the key that sealed the secrets in this database"}
        assert peer.ask("secret", connection_id) == refusal
        assert peer.ask("add connection", "groq", "late", "gsk-late") == refusal
    peer.close()


def test_everyone_who_makes_the_key_file_at_once_gets_the_same_key(tmp_path):
    for number in range(20):
        folder = tmp_path / str(number)
        with ThreadPoolExecutor(8) as pool:
            keys = {future.result() for future in [pool.submit(key_file.create, folder) for _ in range(8)]}
        assert keys == {(folder / "secret.key").read_bytes()}
        assert (folder / "secret.key").stat().st_mode & 0o777 == 0o600
        assert [path.name for path in folder.iterdir()] == ["secret.key"]
