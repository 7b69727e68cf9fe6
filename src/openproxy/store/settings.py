"""Settings that hold for every process on the database."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict, Unpack

from sqlalchemy import Row, delete, insert, select

from openproxy.errors import BadRequest
from openproxy.store.database import Database
from openproxy.store.tables import settings
from openproxy.store.unbroken import repository

Formats = Literal["verbatim", "rendered"]
MOST_IDLE = 86_400
"""The largest `uploadIdleSeconds`."""
MOST_DAYS = 36_500
"""The largest `usageDays`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force; the defaults where nothing else is stored."""

    require_login: bool = True
    """Whether `/v1` needs a key and the dashboard a login (`requireLogin`)."""
    max_upload_bytes: int = 209_715_200
    """The longest request body in bytes (`maxUploadBytes`; contracts/gateway.md, decision 4)."""
    upload_idle_seconds: int = 300
    """Seconds that may pass without a byte of a request's body (`uploadIdleSeconds`)."""
    usage_days: int = 90
    """Days for which the rows of usage are kept (`usageDays`); 0 keeps them for ever."""
    formats: Formats = "verbatim"
    """`rendered`: every provider's answer is made into the format asked for (`formats`; decision 14)."""


class Changes(TypedDict, total=False):
    """What `update` may change; None returns a setting to its default."""

    require_login: bool | None
    max_upload_bytes: int | None
    upload_idle_seconds: int | None
    usage_days: int | None
    formats: Formats | None


_WIRE_NAMES = {
    "require_login": "requireLogin",
    "max_upload_bytes": "maxUploadBytes",
    "upload_idle_seconds": "uploadIdleSeconds",
    "usage_days": "usageDays",
    "formats": "formats",
}
"""Field -> its name in JSON, which errors use."""


@repository
class SettingsStore:
    """The repository of settings."""

    def __init__(self, database: Database):
        self._database = database

    async def get(self) -> Settings:
        """The settings in force."""
        async with self._database.read() as connection:
            return from_rows(await connection.execute(select(settings)))

    async def update(self, **changes: Unpack[Changes]) -> Settings:
        """Change what is named in `changes`. Raises BadRequest naming the setting as it is called in JSON."""
        for name, value in changes.items():
            _check(name, value)
        async with self._database.write() as connection:
            for name, value in changes.items():
                await connection.execute(delete(settings).where(settings.c.name == name))
                if value is not None:
                    await connection.execute(insert(settings).values(name=name, value=value))
            return from_rows(await connection.execute(select(settings)))


def from_rows(rows: Iterable[Row[Any]]) -> Settings:
    """The settings that the rows of the table make; rows of settings that do not exist (any more) are passed over."""
    known = {field.name for field in fields(Settings)}
    return Settings(**{row.name: row.value for row in rows if row.name in known})


def _check(name: str, value: object) -> None:
    if name not in _WIRE_NAMES:
        raise BadRequest(f"There is no setting {name}", param=name)
    wire = _WIRE_NAMES[name]
    if value is None:
        return
    if name == "require_login" and not isinstance(value, bool):
        raise BadRequest(f"{wire} must be true or false", param=wire)
    if name == "max_upload_bytes" and not _whole(value, 2**53):
        raise BadRequest(f"{wire} must be a whole number of bytes, 1 or more", param=wire)
    if name == "upload_idle_seconds" and not _whole(value, MOST_IDLE + 1):
        raise BadRequest(f"{wire} must be a whole number of seconds, from 1 to {MOST_IDLE}", param=wire)
    if name == "usage_days" and not _whole(value, MOST_DAYS + 1, least=0):
        raise BadRequest(f"{wire} must be a whole number of days, from 0 to {MOST_DAYS}", param=wire)
    if name == "formats" and value not in ("verbatim", "rendered"):
        raise BadRequest(f"{wire} must be verbatim or rendered", param=wire)


def _whole(value: object, end: int, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < end
