"""/api/usage: what was transcribed, by provider and model, and the latest transcriptions one by one."""

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
        return cls(
            provider=summary.provider,
            model=summary.model,
            requests=summary.requests,
            succeeded=summary.succeeded,
            failed=summary.requests - summary.succeeded,
            attempts=summary.attempts,
            audio_seconds=summary.audio_seconds,
            bytes=summary.bytes,
            mean_latency=summary.mean_latency,
        )


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
        return cls(
            request_id=row.request_id,
            ended_at=moment(datetime.fromtimestamp(row.at, UTC)),
            provider=row.provider,
            model=row.model,
            status=row.status,
            attempts=row.attempts,
            bytes=row.bytes,
            latency=row.latency,
            audio_seconds=row.audio_seconds,
            connection_id=row.connection_id,
            key_id=row.key_id,
        )


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
