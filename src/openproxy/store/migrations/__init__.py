"""The schema's history, applied in-process when a store is opened.

A new revision is a new file in `versions/`, named `r<number>_<what>.py`, whose `down_revision` is the one before; then
`HEAD` below becomes its number and `tables.py` says the same as the revision does.
"""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from openproxy.errors import StoreUnusable

HEAD = "0001"
"""The revision that this version of the program works with."""

_LOCK = 0x6F70656E70726F78
"""PostgreSQL's advisory lock that one migrating process holds."""


def current(connection: Connection) -> str | None:
    """The revision that the database is at; None for an empty one."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    number = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if number is None else str(number)


def upgrade(connection: Connection) -> None:
    """Bring the database to `HEAD` within the open write transaction of `connection`, one process at a time.

    Raises StoreUnusable where the database was made by a version of the program that this one does not know.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
    found = current(connection)
    if found == HEAD:
        return
    # Alembic takes longer to import than a database at HEAD takes to open.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise StoreUnusable(
            f"The database has schema {found}, which this version does not know (it knows up to {HEAD}): "
            "update openproxy-stt, or restore a backup made before the update"
        )
    command.upgrade(config, "head")
