"""The login limiter, shared by every process on the database (contracts/gateway.md, section 1.8)."""

import math
import time

from sqlalchemy import delete, insert, select, update

from openproxy.store.database import Database
from openproxy.store.tables import NAME_LENGTH, login_attempts
from openproxy.store.unbroken import repository

FREE_FAILURES = 5
"""So many failures lock."""
LOCK_SECONDS = (30, 120, 600, 1800)
"""How long, the first time and after each further lot of failures."""
MEMORY_SECONDS = 3600.0
"""After so long without a failure (and without a lock) all is forgotten."""


@repository
class Attempts:
    """The repository of failed logins by client, such as its address."""

    def __init__(self, database: Database):
        self._database = database

    async def begin(self, client: str, now: float | None = None) -> int:
        """Count an attempt before its password is checked: 0 to go on, else whole seconds to wait.

        Counted as the failure that it may become, so that attempts side by side cannot outrun the limit; `succeeded`
        takes it back. An attempt that is refused counts for nothing. `now` is in seconds since 1970.
        """
        now = time.time() if now is None else now
        client = _stored(client)
        mine = login_attempts.c.client == client
        async with self._database.write(announce=False) as connection:
            # A lock is shorter than MEMORY_SECONDS, so that a row of that age holds none.
            await connection.execute(delete(login_attempts).where(login_attempts.c.last_failure < now - MEMORY_SECONDS))
            row = (await connection.execute(select(login_attempts).where(mine))).first()
            failures, level, locked_until = (row.failures, row.level, row.locked_until) if row else (0, 0, 0.0)
            if locked_until > now:
                return math.ceil(locked_until - now)
            failures += 1
            if failures >= FREE_FAILURES:
                locked_until = now + LOCK_SECONDS[min(level, len(LOCK_SECONDS) - 1)]
                failures, level = 0, level + 1
            values = {"failures": failures, "level": level, "locked_until": locked_until, "last_failure": now}
            statement = update(login_attempts).where(mine) if row else insert(login_attempts)
            await connection.execute(statement.values(values if row else values | {"client": client}))
            return 0

    async def locked(self, client: str, now: float | None = None) -> int:
        """Whole seconds that the client has to wait; 0 where it may try. Counts nothing."""
        now = time.time() if now is None else now
        query = select(login_attempts.c.locked_until).where(login_attempts.c.client == _stored(client))
        async with self._database.read() as connection:
            until = (await connection.execute(query)).scalar()
        return max(0, math.ceil(until - now)) if until is not None else 0

    async def succeeded(self, client: str) -> None:
        """Forget every failure of the client."""
        async with self._database.write(announce=False) as connection:
            await connection.execute(delete(login_attempts).where(login_attempts.c.client == _stored(client)))


def _stored(client: str) -> str:
    return client.encode("ascii", "backslashreplace").decode().replace("\0", "?")[:NAME_LENGTH]
