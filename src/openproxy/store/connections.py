"""Accounts at providers: kept with their secrets sealed, opened one at a time for a call."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict, Unpack

from sqlalchemy import Row, delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from openproxy.errors import BadRequest, Conflict, NotFound, SecretUnreadable
from openproxy.store import moments, secret_fields, words
from openproxy.store.database import Database
from openproxy.store.keyring import Keyring
from openproxy.store.sealing import SealKey, Unopenable
from openproxy.store.tables import connections
from openproxy.store.unbroken import repository

SECRETS = {"api_key": "apiKey", "access_token": "accessToken", "refresh_token": "refreshToken"}
"""Column of a secret -> its name on the wire."""
_DATA = "providerSpecificData"
_CACHE = 4096


@dataclass(frozen=True, slots=True)
class StoredConnection:
    """A connection as it is stored: everything but its secrets, which are sealed and never show in a repr."""

    id: str
    """`mp-` and a UUID; another one after the connection was added again."""
    provider: str
    """The provider's canonical id."""
    name: str
    auth_type: str
    priority: int | None
    """The lowest is tried first; None counts as 999."""
    is_active: bool
    data: Mapping[str, Any]
    """`providerSpecificData` (mediaType, baseUrl, enabledModels, authScheme and more), None where a secret is."""
    rate_limited_until: datetime | None
    """The end of its cool-down, possibly in the past."""
    backoff_level: int
    """How many cool-downs in a row came without a time from the provider."""
    created_at: datetime | None
    updated_at: datetime | None
    position: int = field(repr=False)
    """Place in the order of adding."""
    sealed: Mapping[str, str] = field(repr=False)
    """Records by column; has no entry for a secret that is absent or blank."""

    @property
    def credentialed(self) -> bool:
        """Whether there is an API key or an access token."""
        return "api_key" in self.sealed or "access_token" in self.sealed

    def serves(self, model: str) -> bool:
        """Whether it is an account for this model: any is, but one that is marked `onlyEnabledModels`."""
        return not self.data.get("onlyEnabledModels") or model in (self.data.get("enabledModels") or ())

    def has(self, secret: str) -> bool:
        """Whether the secret of that column (`api_key`, `access_token`, `refresh_token`) is there."""
        return secret in self.sealed

    def place(self, column: str) -> str:
        """What binds a sealed record to this row and field."""
        return _place(self.id, column)


@dataclass(frozen=True, slots=True)
class Secrets:
    """The opened secrets of one connection."""

    api_key: str | None = field(repr=False)
    access_token: str | None = field(repr=False)
    refresh_token: str | None = field(repr=False)
    data: Mapping[str, Any] = field(repr=False)
    """`providerSpecificData`, whole."""

    @property
    def credential(self) -> str:
        """What is presented to the provider: the first of API key and access token that is not blank, else ``""``."""
        return (self.api_key or "").strip() or (self.access_token or "").strip()


class Changes(TypedDict, total=False):
    """What `update` may change; a secret of None or blank is removed."""

    name: str
    priority: int | None
    is_active: bool
    auth_type: str
    api_key: str | None
    access_token: str | None
    refresh_token: str | None
    data: Mapping[str, Any]
    rate_limited_until: datetime | str | None


@repository
class Connections:
    """The repository of connections."""

    def __init__(self, database: Database, keyring: Keyring):
        self._database = database
        self._keyring = keyring
        self._opened: dict[tuple[str, str], str] = {}

    async def add(
        self,
        provider: str,
        name: str,
        *,
        api_key: str | None = None,
        access_token: str | None = None,
        refresh_token: str | None = None,
        data: Mapping[str, Any] | None = None,
        priority: int | None = None,
        is_active: bool = True,
        auth_type: str = "api_key",
    ) -> StoredConnection:
        """Add a connection. `provider` is stored as given: the caller resolves aliases.

        One of the same provider and name is replaced altogether, cool-down included: it keeps its place in the order
        and gets a new id (contracts/gateway.md, D7). Raises BadRequest.
        """
        row: dict[str, Any] = {
            "id": f"mp-{uuid.uuid4()}",
            "provider": words.name(provider, "provider", "Provider"),
            "name": words.name(name, "name", "Name"),
            "auth_type": words.name(auth_type, "authType", "authType"),
            "priority": _priority(priority),
            "is_active": is_active,
            "rate_limited_until": None,
            "backoff_level": 0,
        }
        secrets = {"api_key": api_key, "access_token": access_token, "refresh_token": refresh_token}
        row["created_at"] = row["updated_at"] = moments.text(moments.now())
        await self._keyring.prepare()
        async with self._database.write() as connection:
            key = await self._keyring.in_force(connection)
            row |= {column: _seal(key, row["id"], column, value) for column, value in secrets.items()}
            row |= _seal_data(key, row["id"], *secret_fields.split(data or {}))
            same = (connections.c.provider == row["provider"]) & (connections.c.name == row["name"])
            replaced = await connection.execute(update(connections).where(same).values(row))
            if replaced.rowcount == 0:
                await connection.execute(insert(connections).values(row))
            return await _one(connection, row["id"])

    async def list(self, provider: str | None = None) -> list[StoredConnection]:
        """All connections, or those of one provider, in the order of adding."""
        query = select(connections).order_by(connections.c.position)
        if provider is not None:
            query = query.where(connections.c.provider == provider)
        async with self._database.read() as connection:
            return [from_row(row) for row in await connection.execute(query)]

    async def get(self, reference: str) -> StoredConnection:
        """The connection of that id, name or `provider/name`, the first of these that fits, else the first of that provider.

        Raises NotFound, and Conflict for a name that connections of several providers have.
        """
        if not words.storable(reference):
            raise _unknown(reference)
        columns = (connections.c.id, connections.c.name, connections.c.provider)
        path = connections.c.provider + "/" + connections.c.name
        query = select(connections).where(or_(*(column == reference for column in (*columns, path))))
        async with self._database.read() as connection:
            found = [from_row(row) for row in await connection.execute(query.order_by(connections.c.position))]
        if (exact := next((one for one in found if one.id == reference), None)) is not None:
            return exact
        named = [one for one in found if one.name == reference]
        if len(named) > 1:
            listed = ", ".join(f"{one.provider}/{one.name}" for one in named)
            raise Conflict(f"Several connections are called '{reference}': {listed}; name one of these", param="name")
        paths = [one for one in found if f"{one.provider}/{one.name}" == reference]
        for one in (*named, *paths, *found):
            return one
        raise _unknown(reference)

    async def update(self, connection_id: str, **changes: Unpack[Changes]) -> StoredConnection:
        """Change what is named in `changes`, at once for every process.

        In `data`, which replaces the former as a whole, None in the place of a stored secret keeps that secret: what
        was read without secrets can be written back. Raises NotFound, BadRequest, Conflict for a name that is taken,
        SecretUnreadable where a secret to be kept cannot be opened.
        """
        row = _plain_changes(changes)
        secrets: dict[str, Any] = {column: value for column, value in changes.items() if column in SECRETS}
        if not words.storable(connection_id):
            raise _unknown(connection_id)
        await self._keyring.prepare()
        async with self._database.write() as connection:
            before = await _one(connection, connection_id)
            key = await self._keyring.in_force(connection)
            row |= {column: _seal(key, before.id, column, value) for column, value in secrets.items()}
            if "data" in changes:
                kept: dict[secret_fields.Path, Any] = {}
                if "sealed_data" in before.sealed:
                    kept = secret_fields.loads(await self._open(before, "sealed_data"))
                whole = secret_fields.join(changes["data"], kept)
                row |= _seal_data(key, before.id, *secret_fields.split(whole))
            if "name" in row and row["name"] != before.name:
                taken = select(connections.c.id).where(
                    connections.c.provider == before.provider, connections.c.name == row["name"]
                )
                if (await connection.execute(taken)).first() is not None:
                    raise Conflict(f"There is a connection '{row['name']}' of {before.provider} already", param="name")
            row["updated_at"] = moments.text(moments.now())
            await connection.execute(update(connections).where(connections.c.id == before.id).values(row))
            return await _one(connection, before.id)

    async def delete(self, connection_id: str) -> bool:
        """Remove the connection of that id; False where there is none."""
        if not words.storable(connection_id):
            return False
        async with self._database.write() as connection:
            gone = await connection.execute(delete(connections).where(connections.c.id == connection_id))
            return gone.rowcount > 0

    async def open(self, stored: StoredConnection) -> Secrets:
        """The secrets of a connection, each decrypted once for each record.

        Raises SecretUnreadable, which names the connection, where one was altered or sealed under another key, and
        StoreUnusable where this process does not have the key at all.
        """
        return _secrets(stored, {column: await self._open(stored, column) for column in stored.sealed})

    def known(self, stored: StoredConnection) -> Secrets | None:
        """What `open` gives, at once, where it was decrypted before; else None."""
        plain: dict[str, str] = {}
        for column, record in stored.sealed.items():
            if (known := self._opened.get((record, stored.place(column)))) is None:
                return None
            plain[column] = known
        return _secrets(stored, plain)

    async def _open(self, stored: StoredConnection, column: str) -> str:
        record, place = stored.sealed[column], stored.place(column)
        if (known := self._opened.get((record, place))) is not None:
            return known
        try:
            plain = await self._keyring.unseal(record, place)
        except Unopenable:
            raise unreadable(stored, column) from None
        if len(self._opened) >= _CACHE:
            self._opened.clear()
        self._opened[record, place] = plain
        return plain


def _secrets(stored: StoredConnection, plain: Mapping[str, str]) -> Secrets:
    data = stored.data
    if "sealed_data" in plain:
        data = secret_fields.join(data, secret_fields.loads(plain["sealed_data"]))
    return Secrets(plain.get("api_key"), plain.get("access_token"), plain.get("refresh_token"), data)


def unreadable(stored: StoredConnection, column: str) -> SecretUnreadable:
    """The error for a record that does not open."""
    field_name = SECRETS.get(column, _DATA)
    return SecretUnreadable(
        f"The {field_name} of connection '{stored.name}' ({stored.id}) cannot be decrypted: "
        "it was altered, or sealed under another key"
    )


def from_row(row: Row[Any]) -> StoredConnection:
    """The value of a row of `connections`."""
    sealed = {column: getattr(row, column) for column in (*SECRETS, "sealed_data")}
    return StoredConnection(
        id=row.id,
        provider=row.provider,
        name=row.name,
        auth_type=row.auth_type,
        priority=row.priority,
        is_active=row.is_active,
        data=row.data,
        rate_limited_until=moments.parse(row.rate_limited_until),
        backoff_level=row.backoff_level,
        created_at=moments.parse(row.created_at),
        updated_at=moments.parse(row.updated_at),
        position=row.position,
        sealed={column: record for column, record in sealed.items() if record is not None},
    )


async def _one(connection: AsyncConnection, connection_id: str) -> StoredConnection:
    row = (await connection.execute(select(connections).where(connections.c.id == connection_id))).first()
    if row is None:
        raise _unknown(connection_id)
    return from_row(row)


def _plain_changes(changes: Changes) -> dict[str, Any]:
    row: dict[str, Any] = {}
    if "name" in changes:
        row["name"] = words.name(changes["name"], "name", "Name")
    if "auth_type" in changes:
        row["auth_type"] = words.name(changes["auth_type"], "authType", "authType")
    if "priority" in changes:
        row["priority"] = _priority(changes["priority"])
    if "is_active" in changes:
        row["is_active"] = changes["is_active"]
    if "rate_limited_until" in changes:
        until = changes["rate_limited_until"]
        if isinstance(until, str) and (len(until) > 64 or not words.storable(until)):
            raise BadRequest("rateLimitedUntil is not a point in time", param="rateLimitedUntil")
        row["rate_limited_until"] = moments.text(until) if isinstance(until, datetime) else until
        if until is None:
            row["backoff_level"] = 0
    return row


def _place(connection_id: str, column: str) -> str:
    return f"connections:{connection_id}:{column}"


def _seal(key: SealKey, connection_id: str, column: str, value: str | None) -> str | None:
    if value is None or not value.strip():
        return None
    return key.seal(value, _place(connection_id, column))


def _seal_data(
    key: SealKey, connection_id: str, public: dict[str, Any], secrets: Mapping[secret_fields.Path, Any]
) -> dict[str, Any]:
    try:
        json.dumps(public, allow_nan=False)
    except ValueError:
        raise BadRequest(f"{_DATA} holds a number that JSON does not have", param=_DATA) from None
    text = secret_fields.dumps(secrets)
    return {"data": public, "sealed_data": text and _seal(key, connection_id, "sealed_data", text)}


def _priority(value: int | None) -> int | None:
    if value is not None and not -(2**31) <= value < 2**31:
        raise BadRequest("priority is out of range", param="priority")
    return value


def _unknown(reference: str) -> NotFound:
    return NotFound(f"connection '{reference}' not found")
