import asyncio
import subprocess
import sys

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from openproxy.errors import StoreUnusable
from openproxy.store import Access, Store, migrations, tables
from openproxy.store.database import Database
from support.store_peer import CHEAP, Peer


async def test_migrations_make_the_tables_of_the_program(access):
    database = await Database.connect(access)
    async with database.read() as connection:
        differences = await connection.run_sync(
            lambda sync: compare_metadata(MigrationContext.configure(sync), tables.metadata)
        )
    await database.close()
    assert differences == []


def test_head_is_the_newest_revision_in_the_folder():
    scripts = ScriptDirectory(str(migrations.__path__[0]))
    assert scripts.get_heads() == [migrations.HEAD]


async def test_an_older_schema_can_be_left_and_reached_again(access):
    database = await Database.connect(access)
    async with database.write(announce=False) as connection:
        for table in reversed(tables.metadata.sorted_tables):
            await connection.execute(text(f'DROP TABLE "{table.name}"'))
        await connection.execute(text("DELETE FROM alembic_version"))
    await database.close()
    async with await Store.open(access, cost=CHEAP) as store:
        assert await store.keys.list() == []


async def test_a_newer_schema_is_refused(access):
    database = await Database.connect(access)
    async with database.write(announce=False) as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    await database.close()
    with pytest.raises(StoreUnusable) as caught:
        await Store.open(access, cost=CHEAP)
    assert caught.value.message == (
        "The database has schema 9999, which this version does not know (it knows up to 0001): "
        "update openproxy-stt, or restore a backup made before the update"
    )


async def test_processes_that_open_a_new_database_at_once_share_it(access):
    peers = await asyncio.gather(*(asyncio.to_thread(Peer, access) for _ in range(3)))
    assert [peer.opened for peer in peers] == [{"open": True}] * 3
    connection_id = peers[0].ask("add connection", "openai", "main", "sk-shared-by-all")
    assert [peer.ask("secret", connection_id) for peer in peers] == ["sk-shared-by-all"] * 3
    for peer in peers:
        peer.close()


async def test_files_are_for_their_owner_alone(sqlite_access):
    async with await Store.open(sqlite_access, cost=CHEAP) as store:
        await store.keys.add("ci")
        modes = {path.name: path.stat().st_mode & 0o777 for path in sqlite_access.data_dir.iterdir()}
    assert modes == {
        "openproxy.sqlite": 0o600,
        "openproxy.sqlite-wal": 0o600,
        "openproxy.sqlite-shm": 0o600,
        "secret.key": 0o600,
    }
    assert sqlite_access.data_dir.stat().st_mode & 0o777 == 0o700


async def test_a_file_that_is_no_database_is_refused_and_kept(sqlite_access):
    sqlite_access.data_dir.mkdir()
    path = sqlite_access.data_dir / "openproxy.sqlite"
    path.write_bytes(b"these are my notes, not a database\n" * 40)
    with pytest.raises(StoreUnusable) as caught:
        await Store.open(sqlite_access, cost=CHEAP)
    assert caught.value.message == "The database cannot be opened: file is not a database"
    assert path.read_bytes() == b"these are my notes, not a database\n" * 40


async def test_a_database_out_of_reach_says_so_without_its_address(tmp_path):
    url = "postgresql://someone:hidden@127.0.0.1:1/nowhere"
    with pytest.raises(StoreUnusable) as caught:
        await Store.open(Access(tmp_path, url), cost=CHEAP)
    assert caught.value.message.startswith("The database cannot be opened: ")
    assert "hidden" not in caught.value.message
    assert "127.0.0.1" not in caught.value.message


async def test_what_the_database_server_answers_is_told_at_the_start(tmp_path, postgres_server):
    url = postgres_server.empty_database().replace("/tests?", "/nowhere?")
    with pytest.raises(StoreUnusable) as caught:
        await Store.open(Access(tmp_path, url), cost=CHEAP)
    assert caught.value.message == 'The database cannot be opened: database "nowhere" does not exist'


async def test_a_url_without_a_driver_says_so(tmp_path):
    with pytest.raises(StoreUnusable, match="There is no driver for nosuch here"):
        await Store.open(Access(tmp_path, "nosuch://u@h/d"), cost=CHEAP)


def test_postgresql_without_its_driver_names_the_extra(tmp_path):
    program = """
import asyncio, pathlib, sys
sys.modules["asyncpg"] = None
from openproxy.errors import StoreUnusable
from openproxy.store import Access, Store
try:
    asyncio.run(Store.open(Access(pathlib.Path(sys.argv[1]), "postgresql://u@127.0.0.1/d")))
except StoreUnusable as error:
    print(error.message)
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "PostgreSQL needs the driver asyncpg: pip install 'openproxy-stt[postgres]'\n"


async def test_closing_twice_is_closing_once(access):
    store = await Store.open(access, cost=CHEAP)
    await store.close()
    await store.close()
