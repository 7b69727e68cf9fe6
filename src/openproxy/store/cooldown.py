"""Which connections may be tried now, and the cool-down of those that a provider has told to wait."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import select, update

from openproxy.store import moments, words
from openproxy.store.connections import StoredConnection
from openproxy.store.database import Database
from openproxy.store.tables import connections
from openproxy.store.unbroken import repository

FIRST_SECONDS = 30.0
LONGEST_SECONDS = 300.0
"""Without a Retry-After: 30 s, doubled each time, up to 5 min (contracts/gateway.md, decision 7)."""
MOST_SECONDS = 24 * 3600.0
"""The longest wait that a Retry-After can ask for."""
LAST_PRIORITY = 999


@dataclass(frozen=True, slots=True)
class Candidates:
    """The connections of one provider that have a credential, by whether they may be tried now."""

    ready: tuple[StoredConnection, ...]
    """In the order in which they are tried."""
    cooling: tuple[StoredConnection, ...]
    """The rest, which are rate-limited."""

    def retry_after(self, now: datetime) -> float | None:
        """Seconds until the first one is ready again; 0 where one is, None where there is none at all."""
        if self.ready:
            return 0.0
        ends = [one.rate_limited_until for one in self.cooling if one.rate_limited_until is not None]
        return max(0.0, (min(ends) - now).total_seconds()) if ends else None


def candidates(
    stored: Iterable[StoredConnection], provider: str, now: datetime, model: str | None = None
) -> Candidates:
    """The active, credentialed connections of `provider` (contracts/gateway.md, section 5.1).

    With `model`, without those that serve only others. Ordered by priority, None being 999, and among equals by the order of adding.
    """
    usable = [one for one in stored if one.provider == provider and one.is_active and one.credentialed]
    if model is not None:
        usable = [one for one in usable if one.serves(model)]
    usable.sort(key=lambda one: (LAST_PRIORITY if one.priority is None else one.priority, one.position))
    return Candidates(
        tuple(one for one in usable if not is_cooling(one, now)),
        tuple(one for one in usable if is_cooling(one, now)),
    )


def is_cooling(stored: StoredConnection, now: datetime) -> bool:
    """Whether its cool-down ends later than `now`."""
    return stored.rate_limited_until is not None and stored.rate_limited_until > now


@repository
class Cooldowns:
    """The repository of cool-downs: every process that shares the database sees them on its next request."""

    def __init__(self, database: Database):
        self._database = database

    async def mark(
        self, connection_id: str, retry_after: float | None = None, now: datetime | None = None
    ) -> datetime | None:
        """Note a 429: `retry_after` in seconds as the provider asked for it, None where it did not.

        Gives the end of the cool-down, None where the connection is gone. Several 429s of requests that ran side by
        side are one: they double the wait once, and never shorten it.
        """
        now = (now or datetime.now(UTC)).astimezone(UTC)
        if not words.storable(connection_id):
            return None
        mine = connections.c.id == connection_id
        async with self._database.write() as connection:
            query = select(connections.c.rate_limited_until, connections.c.backoff_level).where(mine)
            row = (await connection.execute(query)).first()
            if row is None:
                return None
            until, level = moments.parse(row.rate_limited_until), row.backoff_level
            if retry_after is not None:
                asked = now + timedelta(seconds=min(max(retry_after, 0.0), MOST_SECONDS))
                until = asked if until is None else max(until, asked)
            elif until is None or until <= now:
                until = now + timedelta(seconds=min(FIRST_SECONDS * 2 ** min(level, 16), LONGEST_SECONDS))
                level += 1
            values = {"rate_limited_until": moments.text(until), "backoff_level": level}
            await connection.execute(update(connections).where(mine).values(values))
            return until

    async def recover(self, stored: StoredConnection, now: datetime | None = None) -> None:
        """Note a success: the next cool-down begins at 30 s again. Writes only where there is something to change.

        A cool-down that still runs stays: the success may have begun before it.
        """
        now = now or datetime.now(UTC)
        if (stored.rate_limited_until is None and stored.backoff_level == 0) or is_cooling(stored, now):
            return
        mine = connections.c.id == stored.id
        async with self._database.write() as connection:
            row = (await connection.execute(select(connections.c.rate_limited_until).where(mine))).first()
            until = None if row is None else moments.parse(row.rate_limited_until)
            if until is None or until <= now:
                await connection.execute(update(connections).where(mine).values(_NONE))

    async def clear(self, connection_id: str) -> None:
        """End the cool-down at once, whether it still runs or not."""
        async with self._database.write() as connection:
            await connection.execute(update(connections).where(connections.c.id == connection_id).values(_NONE))


_NONE = {"rate_limited_until": None, "backoff_level": 0}
