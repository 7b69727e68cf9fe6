"""/api/usage: what was transcribed, by provider and model, and the latest transcriptions one by one."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Query

from openproxy.gateway.admin.access import Opened, Tier, router
from openproxy.gateway.admin.answers import documented
from openproxy.gateway.admin.shapes import Told, moment
from openproxy.store.usage import Summary, Usage

routes = router(Tier.ADMIN, "usage")

Moment = Annotated[float | None, Query(ge=0, le=2**40, allow_inf_nan=False, description="Seconds since 1970.")]


class Sum(Told):
    """The transcriptions of one provider and model."""

    provider: str
    model: str
    requests: int
    succeeded: int
    failed: int
    attempts: int
    audio_seconds: float
    bytes: int
    mean_latency: float

    @classmethod
    def of(cls, summary: Summary) -> "Sum":
        """All of it."""
        return cls(failed=summary.requests - summary.succeeded, **asdict(summary))


class Row(Told):
    """One transcription."""

    request_id: str
    ended_at: str | None
    provider: str
    model: str
    status: int
    attempts: int
    bytes: int
    latency: float
    audio_seconds: float | None
    connection_id: str | None
    key_id: str | None

    @classmethod
    def of(cls, row: Usage) -> "Row":
        """All of it."""
        return cls(ended_at=moment(datetime.fromtimestamp(row.at, UTC)), **asdict(row))


class UsageView(Told):
    """Sums, and single transcriptions with the newest first. Latencies and lengths are in seconds."""

    summary: list[Sum]
    recent: list[Row]


@routes.get("/api/usage", responses=documented(400))
async def get(
    store: Opened,
    since: Moment = None,
    until: Moment = None,
    limit: Annotated[int, Query(ge=0, le=1000, description="How many single transcriptions.")] = 100,
) -> UsageView:
    """Sums of what ended from `since` until before `until`, and the latest transcriptions whatever these say."""
    await store.usage.flush()
    sums = await store.usage.summary(since, until)
    rows = await store.usage.latest(limit)
    return UsageView(summary=[Sum.of(summary) for summary in sums], recent=[Row.of(row) for row in rows])
