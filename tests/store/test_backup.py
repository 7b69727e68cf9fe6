import re
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from openproxy.errors import BadRequest, NotFound, StoreUnusable
from openproxy.store import Access, Store, backup
from support.store_peer import CHEAP, Peer


async def names(access):
    async with await Store.open(access, cost=CHEAP) as store:
        return [key.name for key in await store.keys.list()]


async def filled(access, *added):
    async with await Store.open(access, cost=CHEAP) as store:
        await store.connections.add("openai", "main", api_key="sk-main")
        for name in added:
            await store.keys.add(name)


async def test_a_backup_is_one_sound_file_for_its_owner_alone(sqlite_access):
    await filled(sqlite_access, "one")
    path = await backup.create(sqlite_access)
    assert re.fullmatch(r"openproxy-\d{8}T\d{6}Z\.sqlite", path.name)
    assert path.parent == sqlite_access.data_dir / "db_backups"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("SELECT name FROM api_keys").fetchall() == [("one",)]
    connection.close()


async def test_two_backups_within_a_second_are_two_files(sqlite_access):
    await filled(sqlite_access)
    assert await backup.create(sqlite_access) != await backup.create(sqlite_access)


async def test_restoring_brings_back_what_was(sqlite_access):
    await filled(sqlite_access, "one", "two")
    path = await backup.create(sqlite_access)
    async with await Store.open(sqlite_access, cost=CHEAP) as store:
        await store.keys.delete("one")
        await store.keys.add("three")
        await store.connections.add("openai", "main", api_key="sk-replaced")
    await backup.restore(sqlite_access, path)
    async with await Store.open(sqlite_access, cost=CHEAP) as store:
        assert [key.name for key in await store.keys.list()] == ["one", "two"]
        (stored,) = (await store.snapshot()).connections
        assert (await store.connections.open(stored)).credential == "sk-main"
        await store.keys.add("four")
    assert sorted(path.name for path in sqlite_access.data_dir.iterdir()) == [
        "db_backups",
        "openproxy.sqlite",
        "secret.key",
    ]


async def test_running_servers_go_on_with_the_restored_state(sqlite_access):
    async with await Store.open(sqlite_access, cost=CHEAP) as store:
        kept = await store.keys.add("kept", "kept in the backup")
        await store.snapshot()
        path = await backup.create(sqlite_access)
        await store.keys.add("lost", "made after the backup")
        peer = Peer(sqlite_access)
        assert peer.ask("has key", "made after the backup") is True
        assert (await store.snapshot()).key("made after the backup") is not None
        await backup.restore(sqlite_access, path)
        assert peer.ask("has key", "made after the backup") is False
        assert (await store.snapshot()).keys == (kept.key,)
        added = peer.ask("add connection", "openai", "new", "sk-new")
        (stored,) = (await store.snapshot()).candidates("openai", datetime.now(UTC)).ready
        assert stored.id == added
        assert (await store.connections.open(stored)).credential == "sk-new"
        peer.close()
    assert await names(sqlite_access) == ["kept"]


async def test_a_backup_can_be_restored_into_an_empty_data_directory(sqlite_access, tmp_path):
    await filled(sqlite_access, "one")
    path = await backup.create(sqlite_access, tmp_path / "elsewhere" / "copy #1?.sqlite")
    new = Access(tmp_path / "new")
    with pytest.raises(StoreUnusable, match=re.escape("secret.key is missing")):
        await backup.restore(new, path)
    (tmp_path / "new" / "secret.key").write_bytes((sqlite_access.data_dir / "secret.key").read_bytes())
    await backup.restore(new, path)
    assert await names(new) == ["one"]


async def test_a_backup_under_another_key_is_refused_and_nothing_changes(sqlite_access, tmp_path):
    await filled(sqlite_access, "one")
    other = Access(tmp_path / "other", passphrase="another")
    await filled(other, "theirs")
    path = await backup.create(other)
    with pytest.raises(StoreUnusable, match="OPENPROXY_ENCRYPTION_KEY, which is not set"):
        await backup.restore(sqlite_access, path)
    assert await names(sqlite_access) == ["one"]


async def test_a_backup_from_before_a_rotation_needs_the_former_key(sqlite_access):
    await filled(sqlite_access, "one")
    path = await backup.create(sqlite_access)
    former = (sqlite_access.data_dir / "secret.key").read_bytes()
    async with await Store.open(sqlite_access, cost=CHEAP) as store:
        await store.rotate()
    with pytest.raises(StoreUnusable) as caught:
        await backup.restore(sqlite_access, path)
    assert caught.value.message == (
        f"{path.name} cannot be restored: The key file secret.key is not the key that sealed the secrets in this "
        "database. A backup opens only with the key that was in use when it was made"
    )
    (sqlite_access.data_dir / "secret.key").write_bytes(former)
    await backup.restore(sqlite_access, path)
    assert await names(sqlite_access) == ["one"]


async def test_what_is_no_backup_is_refused_and_nothing_changes(sqlite_access, tmp_path):
    await filled(sqlite_access, "one")
    text, foreign, damaged = (tmp_path / name for name in ("text.sqlite", "foreign.sqlite", "damaged.sqlite"))
    text.write_bytes(b"not a database at all" * 300)
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE notes (words)")
    connection.close()
    sound = await backup.create(sqlite_access)
    content = bytearray(sound.read_bytes())
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    damaged.write_bytes(content)
    for path in (text, foreign, damaged):
        with pytest.raises(BadRequest) as caught:
            await backup.restore(sqlite_access, path)
        assert caught.value.message.startswith(f"{path.name} is not a sound SQLite database: ")
    with pytest.raises(NotFound, match=re.escape("There is no backup .")):
        await backup.restore(sqlite_access, Path())
    with pytest.raises(NotFound, match=re.escape("There is no backup missing.sqlite")):
        await backup.restore(sqlite_access, tmp_path / "missing.sqlite")
    assert await names(sqlite_access) == ["one"]


async def test_a_backup_never_overwrites(sqlite_access, tmp_path):
    await filled(sqlite_access)
    (tmp_path / "there").write_text("mine")
    with pytest.raises(BadRequest, match="there exists already"):
        await backup.create(sqlite_access, tmp_path / "there")
    assert (tmp_path / "there").read_text() == "mine"


async def test_without_a_database_there_is_nothing_to_back_up(sqlite_access):
    with pytest.raises(NotFound, match="There is no database to back up yet"):
        await backup.create(sqlite_access)


async def test_postgresql_has_its_own_tools(tmp_path):
    access = Access(tmp_path, "postgresql://u@h/d")
    with pytest.raises(BadRequest, match="for PostgreSQL pg_dump"):
        await backup.create(access)
    with pytest.raises(BadRequest, match="for PostgreSQL pg_restore"):
        await backup.restore(access, tmp_path / "x")


async def test_a_database_that_cannot_be_read_is_not_called_unsound(sqlite_access):
    sqlite_access.sqlite_path.mkdir(parents=True)
    with pytest.raises(StoreUnusable, match="The database cannot be checked: "):
        await backup.verify(sqlite_access)
    sqlite_access.sqlite_path.rmdir()
    sqlite_access.sqlite_path.write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreUnusable, match="The database is not sound: file is not a database"):
        await backup.verify(sqlite_access)
