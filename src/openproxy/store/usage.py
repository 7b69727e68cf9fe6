"""Usage: one row for each transcription, gathered in memory and written in batches beside the requests.

A process that is killed loses the rows of its last second; one that is closed loses none.
"""

import asyncio
import contextlib
import logging
import time
from collections import deque
from dataclasses import dataclass, field, fields

from sqlalchemy import case, delete, func, insert, select

from openproxy.errors import OpenProxyError
from openproxy.store.database import Database
from openproxy.store.tables import NAME_LENGTH, usage
from openproxy.store.unbroken import repository

FLUSH_SECONDS = 1.0
"""The longest that a row waits in memory."""
BATCH = 2000
"""So many rows are written at once without waiting. Each writing disturbs the requests beside it: few rows would not pay."""
PRUNED_AT_ONCE = 5000
"""So many rows are deleted in one transaction."""
MOST_WAITING = 10_000
"""Beyond so many rows the oldest are lost while the database takes none."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Usage:
    """One transcription, as it ended."""

    request_id: str
    provider: str
    model: str
    status: int
    """HTTP status of the answer."""
    attempts: int
    """Calls to the provider."""
    bytes: int
    """Size of the audio file."""
    latency: float
    """Seconds from the request's beginning to the answer's end."""
    audio_seconds: float | None = None
    """Length of the recording, where it is known."""
    connection_id: str | None = None
    """The connection that answered."""
    key_id: str | None = None
    """The API key that asked."""
    at: float = field(default_factory=time.time)
    """When it ended, seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The transcriptions of one provider and model."""

    provider: str
    model: str
    requests: int
    succeeded: int
    """Those with a status below 400."""
    attempts: int
    audio_seconds: float
    bytes: int
    mean_latency: float
    """Seconds."""


_NAMES = tuple(one.name for one in fields(Usage))


@repository
class UsageLog:
    """The repository of usage."""

    def __init__(self, database: Database):
        self._database = database
        self._waiting: deque[Usage] = deque(maxlen=MOST_WAITING)
        self._lost = 0
        self._full = asyncio.Event()
        self._closing = False
        self._writer: asyncio.Task[None] | None = None
        self._flushing = asyncio.Lock()

    def record(self, row: Usage) -> None:
        """Note a transcription. Returns at once: the row is written within FLUSH_SECONDS."""
        if len(self._waiting) == MOST_WAITING:
            self._lost += 1
        self._waiting.append(row)
        if len(self._waiting) >= BATCH:
            self._full.set()
        if self._writer is None or self._writer.done():
            self._writer = asyncio.get_running_loop().create_task(self._write_until_empty())

    async def flush(self) -> None:
        """Write every row that waits. Raises Unavailable where the database takes none; they go on waiting."""
        async with self._flushing:
            while self._waiting:
                rows = [self._waiting[place] for place in range(min(BATCH, len(self._waiting)))]
                lost_before = self._lost
                async with self._database.write(announce=False) as connection:
                    await connection.execute(insert(usage), [_values(row) for row in rows])
                # What was pushed out at the front meanwhile is not there to be taken away.
                for _ in range(max(0, len(rows) - (self._lost - lost_before))):
                    self._waiting.popleft()

    async def close(self) -> None:
        """Write what waits and end; what the database does not take is lost with a warning."""
        self._closing = True
        self._full.set()
        if self._writer is not None:
            await self._writer

    async def summary(self, since: float | None = None, until: float | None = None) -> list[Summary]:
        """Sums by provider and model of what ended from `since` until before `until`, seconds since 1970."""
        query = select(
            usage.c.provider,
            usage.c.model,
            func.count(),
            func.sum(case((usage.c.status < 400, 1), else_=0)),
            func.sum(usage.c.attempts),
            func.coalesce(func.sum(usage.c.audio_seconds), 0.0),
            func.sum(usage.c.bytes),
            func.avg(usage.c.latency),
        )
        if since is not None:
            query = query.where(usage.c.at >= since)
        if until is not None:
            query = query.where(usage.c.at < until)
        query = query.group_by(usage.c.provider, usage.c.model).order_by(usage.c.provider, usage.c.model)
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).all()
        return [
            Summary(provider, model, requests, int(succeeded), int(attempts), float(seconds), int(size), float(latency))
            for provider, model, requests, succeeded, attempts, seconds, size, latency in rows
        ]

    async def latest(self, limit: int = 100) -> list[Usage]:
        """The last rows written, newest first."""
        async with self._database.read() as connection:
            rows = await connection.execute(select(usage).order_by(usage.c.id.desc()).limit(limit))
            return [
                Usage(
                    request_id=row.request_id,
                    provider=row.provider,
                    model=row.model,
                    status=row.status,
                    attempts=row.attempts,
                    bytes=row.bytes,
                    latency=row.latency,
                    audio_seconds=row.audio_seconds,
                    connection_id=row.connection_id,
                    key_id=row.key_id,
                    at=row.at,
                )
                for row in rows
            ]

    async def prune(self, before: float) -> int:
        """Delete what ended before that time, seconds since 1970; gives how many rows there were.

        A part at a time, so that other writers need not wait long.
        """
        some = select(usage.c.id).where(usage.c.at < before).limit(PRUNED_AT_ONCE)
        gone = 0
        while True:
            async with self._database.write(announce=False) as connection:
                count = (await connection.execute(delete(usage).where(usage.c.id.in_(some)))).rowcount
            gone += count
            if count < PRUNED_AT_ONCE:
                return gone

    async def _write_until_empty(self) -> None:
        while self._waiting:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._full.wait(), FLUSH_SECONDS)
            self._full.clear()
            try:
                await self.flush()
            except OpenProxyError as error:
                _log.warning("usage is not written, %d rows wait: %s", len(self._waiting), error.message)
                if self._closing:
                    return
                await asyncio.sleep(FLUSH_SECONDS)


def _values(row: Usage) -> dict[str, object]:
    values = {name: getattr(row, name) for name in _NAMES}
    for name in ("request_id", "provider", "model"):
        values[name] = values[name].encode("utf-8", "replace").decode().replace("\0", "?")[:NAME_LENGTH]
    return values
