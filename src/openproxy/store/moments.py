"""Points in time as they are stored: RFC 3339 text in UTC."""

from datetime import UTC, datetime


def now() -> datetime:
    """The present moment, in UTC."""
    return datetime.now(UTC)


def text(moment: datetime) -> str:
    """`2026-08-23T10:00:00+00:00`, with a fraction where there is one."""
    return moment.astimezone(UTC).isoformat()


def parse(value: str | None) -> datetime | None:
    """The moment that RFC 3339 text names; None where it names none (contracts/gateway.md, section 5.1)."""
    if not value:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo is not None else None
