"""Backups of an SQLite database: a consistent copy taken while servers run, and its return, whole or not at all.

A backup holds sealed secrets and hashes, not the key that opens them: `secret.key` has to be kept elsewhere.
"""

import asyncio
import contextlib
import os
import sqlite3
import tempfile
from datetime import datetime
from pathlib import Path

from sqlalchemy import select

from openproxy.errors import BadRequest, NotFound, StoreUnusable
from openproxy.store import moments
from openproxy.store.access import SQLITE_NAME, Access
from openproxy.store.database import BUSY_SECONDS, Database
from openproxy.store.keyring import Keyring
from openproxy.store.sealing import Cost
from openproxy.store.tables import seal_keys

FOLDER = "db_backups"
_FORMER_KEY = ". A backup opens only with the key that was in use when it was made"


async def create(access: Access, target: Path | None = None) -> Path:
    """Copy the database to `target`, or to `db_backups/` under the time of day, and give the path.

    Servers may read and write meanwhile; the copy is of one moment. Raises BadRequest where the database is not SQLite
    or `target` exists, NotFound where there is no database yet.
    """
    path = _sqlite_path(access, "pg_dump")
    if not path.is_file():
        raise NotFound("There is no database to back up yet")
    if target is None:
        target = _free_name(access.data_dir / FOLDER, moments.now())
    elif target.exists():
        raise BadRequest(f"{target.name or target} exists already")
    try:
        await asyncio.to_thread(_copy_out, path, target)
    except (OSError, sqlite3.Error) as error:
        raise BadRequest(f"The backup cannot be written: {_words(error)}") from error
    return target


async def restore(access: Access, source: Path) -> None:
    """Make the database what `source` holds, brought to the current schema.

    The copy is checked first (integrity, schema, the key of its secrets), then put into the place of the present
    contents in one SQLite transaction: running servers go on with the restored state at their next request, and a
    crash in between leaves the former state. Raises BadRequest where `source` is not a sound backup of this program,
    NotFound where it is not there, StoreUnusable where its secrets are sealed under another key.
    """
    path = _sqlite_path(access, "pg_restore")
    await asyncio.to_thread(_expect, source, access)
    with tempfile.TemporaryDirectory(prefix="restore-", dir=access.data_dir) as folder:
        staged = Path(folder) / SQLITE_NAME
        try:
            await asyncio.to_thread(_copy, source, staged)
            await asyncio.to_thread(_check, staged)
        except sqlite3.Error as error:
            raise BadRequest(f"{source.name} is not a sound SQLite database: {_words(error)}") from error
        try:
            await _make_current(access, staged)
        except StoreUnusable as error:
            raise StoreUnusable(f"{source.name} cannot be restored: {error.message}{_FORMER_KEY}") from error
        # Opening creates a database where there is none, with the mode and journal that it has to have.
        await (await Database.connect(access)).close()
        try:
            await asyncio.to_thread(_copy, staged, path)
        except sqlite3.Error as error:
            raise BadRequest(f"The database cannot be restored now: {_words(error)}") from error


async def verify(access: Access) -> None:
    """See that the database is sound, as far as SQLite can tell; any other database does so itself.

    Servers may read and write meanwhile. Raises StoreUnusable saying what is wrong.
    """
    path = access.sqlite_path
    if path is None:
        return
    try:
        await asyncio.to_thread(_inspect, path)
    except sqlite3.OperationalError as error:
        raise StoreUnusable(f"The database cannot be checked: {_words(error)}") from error
    except sqlite3.Error as error:
        raise StoreUnusable(f"The database is not sound: {_words(error)}") from error


async def _make_current(access: Access, staged: Path) -> None:
    """Migrate the copy, and see whether this process has the key of its secrets."""
    database = await Database.connect(Access(access.data_dir, f"sqlite:///{staged}", access.passphrase))
    try:
        async with database.read() as connection:
            rows = (await connection.execute(select(seal_keys))).all()
        for row in rows:
            await Keyring(database, access, Cost()).check(row)
    finally:
        await database.close()


def _expect(source: Path, access: Access) -> None:
    if not source.is_file():
        raise NotFound(f"There is no backup {source.name or source}")
    access.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)


def _sqlite_path(access: Access, tool: str) -> Path:
    path = access.sqlite_path
    if path is None:
        raise BadRequest(f"This database is a server of its own: use its own tool, for PostgreSQL {tool}")
    return path


def _free_name(folder: Path, moment: datetime) -> Path:
    stem = f"openproxy-{moment:%Y%m%dT%H%M%SZ}"
    names = (folder / f"{stem}{suffix}.sqlite" for suffix in ("", *(f"-{number}" for number in range(2, 10_000))))
    return next(name for name in names if not name.exists())


def _copy_out(path: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".backup-", dir=target.parent)
    os.close(handle)
    staged = Path(name)
    try:
        _copy(path, staged)
        _check(staged)
        with staged.open("rb+") as file:
            os.fsync(file.fileno())
        staged.replace(target)
    finally:
        staged.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    """Copy one database into another in a single transaction of the target (https://www.sqlite.org/backup.html)."""
    with (
        contextlib.closing(sqlite3.connect(f"file:{_quoted(source)}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as one,
        contextlib.closing(sqlite3.connect(target, timeout=BUSY_SECONDS)) as other,
    ):
        one.backup(other)


def _check(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        # The copy of a database in WAL mode would want a -wal file beside it.
        connection.execute("PRAGMA journal_mode = DELETE")
        _expect_integrity(connection)
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not {"alembic_version", "connections", "api_keys"} <= names:
            raise sqlite3.DatabaseError("it has none of this program's tables")


def _inspect(path: Path) -> None:
    uri = f"file:{_quoted(path)}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)) as connection:
        _expect_integrity(connection)


def _expect_integrity(connection: sqlite3.Connection) -> None:
    verdict = connection.execute("PRAGMA integrity_check").fetchone()[0]
    if verdict != "ok":
        raise sqlite3.DatabaseError(str(verdict).splitlines()[0])


def _quoted(path: Path) -> str:
    return str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _words(error: Exception) -> str:
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
