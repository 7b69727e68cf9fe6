"""One database: its engine, its two kinds of transaction, and the revision by which readers notice a write."""

import asyncio
import contextlib
import os
import secrets
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, event, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from openproxy.errors import StoreUnusable, Unavailable
from openproxy.store import migrations
from openproxy.store.access import Access
from openproxy.store.tables import revision

BUSY_SECONDS = 15.0
"""How long SQLite waits for another process to finish its write."""


class Database:
    """An open database at the current schema. Made by `connect`, used within one event loop, ended by `close`.

    Transactions must not be cancelled half-way: what uses them is `unbroken`.
    """

    def __init__(self, engine: AsyncEngine, path: Path | None):
        self.path = path
        """The file of an SQLite database; None for any other."""
        self._engine = engine
        self._plain = engine.execution_options(isolation_level="AUTOCOMMIT") if path is None else engine
        self._writing = asyncio.Lock()
        self._watch: sqlite3.Connection | None = None
        self.running: set[asyncio.Task[Any]] = set()
        """Calls under way, see `unbroken`."""

    @classmethod
    async def connect(cls, access: Access) -> "Database":
        """Open the database, made and migrated where that is needed.

        Raises StoreUnusable where it is out of reach, its driver is missing, or its schema is a newer one.
        """
        path = access.sqlite_path
        if path is not None:
            await asyncio.to_thread(_prepare_sqlite, path)
        database = cls(_engine(access), path)
        try:
            await database._migrate()
            if path is not None:
                database._watch = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        except (DBAPIError, OSError, PoolTimeout) as error:
            await database.close()
            raise StoreUnusable(f"The database cannot be opened: {_refusal(error) or _reason(error)}") from error
        except BaseException:
            await database.close()
            raise
        return database

    async def close(self) -> None:
        """Wait for the calls under way, then give every connection back. May be called more than once."""
        while self.running:
            await asyncio.wait(self.running)
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        await self._engine.dispose()

    @contextlib.asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that sees one state of the database throughout. Raises Unavailable."""
        level = {} if self.path is not None else {"isolation_level": "REPEATABLE READ"}
        with _translated():
            async with self._engine.connect() as connection:
                await connection.execution_options(**level)
                async with connection.begin():
                    yield connection

    @contextlib.asynccontextmanager
    async def write(self, *, announce: bool = True) -> AsyncIterator[AsyncConnection]:
        """A transaction that no other writer of any process runs beside; committed, and durable, when it is left.

        With `announce` every process reads its snapshot again afterwards; without, for what no snapshot holds.
        IntegrityError passes through; anything else that fails is Unavailable.
        """
        with _translated():
            async with self._writing, self._engine.connect() as connection:
                await connection.execution_options(openproxy_begin="BEGIN IMMEDIATE")
                async with connection.begin():
                    # Elsewhere than in SQLite the row's lock is what keeps writers apart.
                    if announce:
                        await connection.execute(update(revision).values(number=secrets.randbits(62)))
                    elif self.path is None:
                        await connection.execute(select(revision.c.number).with_for_update())
                    yield connection

    def data_version(self) -> int | None:
        """SQLite's counter of commits by other connections, some microseconds on the event loop; None elsewhere.

        See https://www.sqlite.org/pragma.html#pragma_data_version. It is asked on a connection of its own, which never
        writes, so that the writes of this process count as well.
        """
        if self._watch is None:
            return None
        with _translated():
            number: int = self._watch.execute("PRAGMA data_version").fetchone()[0]
        return number

    async def revision(self) -> int:
        """The number that every announced write changes: one round trip, outside of any transaction."""
        with _translated():
            if self._watch is not None:
                number: int = self._watch.execute("SELECT number FROM revision").fetchone()[0]
                return number
            try:
                return await self._ask_revision()
            except DBAPIError as error:
                # The server was restarted since the last request: the pool connects anew.
                if not error.connection_invalidated:
                    raise
                return await self._ask_revision()

    async def _ask_revision(self) -> int:
        async with self._plain.connect() as connection:
            return (await connection.execute(select(revision.c.number))).scalar_one()

    async def _migrate(self) -> None:
        async with self._engine.connect() as connection:
            if await connection.run_sync(migrations.current) == migrations.HEAD:
                return
        async with self._engine.connect() as connection:
            await connection.execution_options(openproxy_begin="BEGIN IMMEDIATE")
            async with connection.begin():
                await connection.run_sync(migrations.upgrade)


def _engine(access: Access) -> AsyncEngine:
    url = access.database_url
    try:
        engine = create_async_engine(url, hide_parameters=True, pool_size=4, max_overflow=4, pool_recycle=1800)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        if url.get_backend_name() == "postgresql":
            message = "PostgreSQL needs the driver asyncpg: pip install 'openproxy-stt[postgres]'"
        else:
            message = f"There is no driver for {url.drivername} here"
        raise StoreUnusable(message) from error
    if url.get_backend_name() == "sqlite":
        event.listen(engine.sync_engine, "connect", _on_sqlite_connect)
        event.listen(engine.sync_engine, "begin", _on_sqlite_begin)
    return engine


def _prepare_sqlite(path: Path) -> None:
    """Create the file for its owner alone and switch it to write-ahead logging, once."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite gives its -wal and -shm files the mode of the database file.
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with contextlib.closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
            # The switch does not wait for another process that does the same just now; hence the loop.
            deadline = time.monotonic() + BUSY_SECONDS
            while True:
                try:
                    if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal":
                        return
                    raise StoreUnusable("The database's file system cannot do SQLite's write-ahead logging")
                except sqlite3.OperationalError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.05)
    except (OSError, sqlite3.Error) as error:
        raise StoreUnusable(f"The database cannot be opened: {_reason(error)}") from error


def _on_sqlite_connect(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where _on_sqlite_begin says
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
    # FULL: a commit is on the disk before it is acknowledged. NORMAL would survive kill -9 but not a power cut.
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _on_sqlite_begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("openproxy_begin", "BEGIN"))


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except IntegrityError:
        raise
    except (DBAPIError, OSError, PoolTimeout, sqlite3.Error) as error:
        raise Unavailable(f"The database cannot be used now: {_reason(error)}", code="database_unavailable") from error


def _refusal(error: BaseException) -> str | None:
    """The first line of what a PostgreSQL server answered (`database "x" does not exist`), which whoever starts may see."""
    answer = getattr(error, "orig", None) or error
    answer = answer.__cause__ or answer
    return str(answer).splitlines()[0] if getattr(answer, "sqlstate", None) and str(answer) else None


def _reason(error: BaseException) -> str:
    """What went wrong, without hosts, paths and parameters."""
    origin = getattr(error, "orig", None) or error
    cause = origin.__cause__ if isinstance(origin.__cause__, sqlite3.Error) else origin
    if isinstance(cause, sqlite3.Error):
        return str(cause)
    if isinstance(origin, OSError):
        return origin.strerror if origin.strerror and "'" not in origin.strerror else type(origin).__name__
    known = origin.__cause__ or origin
    return type(known).__name__
