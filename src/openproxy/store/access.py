"""What opens a store: where its database is and what its secrets are sealed with."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from openproxy.errors import StoreUnusable

SQLITE_NAME = "openproxy.sqlite"
URL_VARIABLE = "OPENPROXY_DATABASE_URL"
PASSPHRASE_VARIABLE = "OPENPROXY_ENCRYPTION_KEY"  # noqa: S105 - the variable's name, not its value

_DRIVERS = {
    "postgres": "postgresql+asyncpg",
    "postgresql": "postgresql+asyncpg",
    "sqlite": "sqlite+aiosqlite",
}
"""Spellings of users and hosting services -> SQLAlchemy's dialect and driver."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where one process finds the database and the key (contracts/gateway.md, decisions 17 and 18)."""

    data_dir: Path
    """Holds `openproxy.sqlite` unless `url` says otherwise, `secret.key` unless `passphrase` is given, `db_backups/`."""
    url: str | None = field(default=None, repr=False)
    """Database URL; None for SQLite in the data directory."""
    passphrase: str | None = field(default=None, repr=False)
    """The encryption key as the user words it; None for the random one in `secret.key`."""

    @classmethod
    def from_environment(cls, data_dir: Path, environ: Mapping[str, str] = os.environ) -> "Access":
        """Read `OPENPROXY_DATABASE_URL` and `OPENPROXY_ENCRYPTION_KEY`; blank counts as not set."""
        url, passphrase = environ.get(URL_VARIABLE, "").strip(), environ.get(PASSPHRASE_VARIABLE, "")
        return cls(data_dir, url or None, passphrase if passphrase.strip() else None)

    @property
    def database_url(self) -> URL:
        """The URL with an async driver in it. Raises StoreUnusable where it is no URL or names no file."""
        if self.url is None:
            return URL.create("sqlite+aiosqlite", database=str(self.data_dir / SQLITE_NAME))
        try:
            url = make_url(self.url)
        except ArgumentError:
            raise StoreUnusable(f"{URL_VARIABLE} is not a database URL, such as postgresql://user@host/name") from None
        url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
        if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
            raise StoreUnusable(f"{URL_VARIABLE} names no file: sqlite:////absolute/path/of/the.sqlite")
        if url.get_backend_name() == "sqlite":
            url = url.set(database=str(Path(url.database or "").absolute()))
        if url.drivername == "postgresql+asyncpg" and "sslmode" in url.query:
            # libpq's spelling, which asyncpg takes as `ssl`.
            mode = url.query["sslmode"]
            url = url.difference_update_query(["sslmode"]).update_query_dict({"ssl": mode})
        return url

    @property
    def sqlite_path(self) -> Path | None:
        """The file of an SQLite database; None for any other."""
        url = self.database_url
        return Path(url.database or "") if url.get_backend_name() == "sqlite" else None
