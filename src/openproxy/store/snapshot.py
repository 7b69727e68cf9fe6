"""What a request needs to know of the database, in memory and checked for freshness at each request."""

import asyncio
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from sqlalchemy import select

from openproxy.store import combos, connections, cooldown, settings, tables
from openproxy.store import keys as key_rows
from openproxy.store.aliases import Target
from openproxy.store.database import Database
from openproxy.store.unbroken import unbroken


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of the database, without any secret in the clear."""

    revision: int
    settings: settings.Settings
    connections: tuple[connections.StoredConnection, ...]
    """In the order of adding."""
    keys: tuple[key_rows.ApiKey, ...]
    """In the order of adding."""
    combos: Mapping[str, combos.Combo]
    """By name."""
    aliases: Mapping[str, Target]
    """By name."""
    _digests: Mapping[str, key_rows.ApiKey] = field(repr=False)

    def key(self, secret: str) -> key_rows.ApiKey | None:
        """The key whose secret this is, active or not; None where there is none.

        Found by its SHA-256, so that the time taken tells nothing about the secrets (contracts/gateway.md, B44).
        """
        presented = key_rows.digest(secret)
        found = self._digests.get(presented)
        return found if found is not None and hmac.compare_digest(found.digest, presented) else None

    def candidates(self, provider: str, now: datetime, model: str | None = None) -> cooldown.Candidates:
        """The connections of `provider` to try (for `model`), and those that are cooling down at `now`."""
        return cooldown.candidates(self.connections, provider, now, model)


class Snapshots:
    """Gives the newest snapshot, read anew only where the database has changed."""

    def __init__(self, database: Database):
        self._database = database
        self._snapshot: Snapshot | None = None
        self._seen: int | None = None
        self._reading = asyncio.Lock()

    async def current(self) -> Snapshot:
        """A snapshot that holds everything committed by any process before this call. Raises Unavailable.

        Costs a look at SQLite's data version, elsewhere one round trip for the revision row, and a reading of the
        tables after a write.
        """
        seen = self._database.data_version()
        if seen is not None and seen == self._seen and self._snapshot is not None:
            return self._snapshot
        if seen is None and self._snapshot is not None:
            snapshot = self._snapshot
            if await self._database.revision() == snapshot.revision:
                return snapshot
        return await self._renew()

    @unbroken
    async def _renew(self) -> Snapshot:
        async with self._reading:
            # The version is asked for before the tables are read: a write in between is found at the next call.
            seen = self._database.data_version()
            number = await self._database.revision()
            if self._snapshot is None or self._snapshot.revision != number:
                self._snapshot = await _read(self._database)
            self._seen = seen
            return self._snapshot


async def _read(database: Database) -> Snapshot:
    async with database.read() as connection:
        number = (await connection.execute(select(tables.revision.c.number))).scalar_one()
        stored = await connection.execute(select(tables.connections).order_by(tables.connections.c.position))
        accounts = tuple(connections.from_row(row) for row in stored)
        stored = await connection.execute(select(tables.api_keys).order_by(tables.api_keys.c.position))
        api_keys = tuple(key_rows.from_row(row) for row in stored)
        stored = await connection.execute(select(tables.combos).order_by(tables.combos.c.position))
        lists = {row.name: combos.from_row(row) for row in stored}
        stored = await connection.execute(select(tables.aliases).order_by(tables.aliases.c.alias))
        names = {row.alias: row.target for row in stored}
        values = settings.from_rows(await connection.execute(select(tables.settings)))
    return Snapshot(
        revision=number,
        settings=values,
        connections=accounts,
        keys=api_keys,
        combos=MappingProxyType(lists),
        aliases=MappingProxyType(names),
        _digests=MappingProxyType({key.digest: key for key in api_keys}),
    )
