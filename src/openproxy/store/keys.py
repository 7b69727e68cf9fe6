"""API keys of this server: hashed, masked, shown once (contracts/gateway.md, decision 19)."""

import hashlib
import secrets
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Row, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from openproxy.errors import BadRequest, Conflict, NotFound
from openproxy.store import moments, words
from openproxy.store.database import Database
from openproxy.store.tables import api_keys
from openproxy.store.unbroken import repository

PREFIX = "op-"
SHORTEST = 8
"""Characters that a supplied secret must have."""
_MASKED_FROM = 16


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is stored."""

    id: str
    name: str
    mask: str
    """What may be shown of the secret."""
    is_active: bool
    created_at: datetime | None
    digest: str = field(repr=False)
    """SHA-256 of the secret, 64 hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made: the only time that its secret is known."""

    key: ApiKey
    secret: str = field(repr=False)


def generate() -> str:
    """`op-` and 48 hexadecimal digits."""
    return PREFIX + secrets.token_hex(24)


def digest(secret: str) -> str:
    """SHA-256 as 64 hexadecimal digits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def mask(secret: str) -> str:
    """First and last four characters of a secret of 16 or more, else as many bullets as it has."""
    return f"{secret[:4]}…{secret[-4:]}" if len(secret) >= _MASKED_FROM else "•" * len(secret)


@repository
class Keys:
    """The repository of API keys. A reference is an id, else a name, of which the first is taken."""

    def __init__(self, database: Database):
        self._database = database

    async def add(self, name: str, secret: str | None = None) -> NewKey:
        """Add a key, with a generated secret where none is given. Names may repeat.

        Raises BadRequest for a blank name or a secret that is too short or cannot be sent in a header, Conflict for a
        secret that another key has.
        """
        name = words.name(name, "name", "Name")
        secret = generate() if secret is None else _checked(secret)
        async with self._database.write() as connection:
            return await _insert(connection, name, secret)

    async def ensure(self, name: str) -> NewKey | None:
        """Add a key of that name with a generated secret unless there is one; None where there is."""
        name = words.name(name, "name", "Name")
        async with self._database.write() as connection:
            if (await connection.execute(select(api_keys.c.id).where(api_keys.c.name == name))).first() is not None:
                return None
            return await _insert(connection, name, generate())

    async def list(self) -> list[ApiKey]:
        """All keys in the order of adding."""
        async with self._database.read() as connection:
            return [from_row(row) for row in await connection.execute(select(api_keys).order_by(api_keys.c.position))]

    async def get(self, reference: str) -> ApiKey:
        """The key. Raises NotFound."""
        async with self._database.read() as connection:
            return await _find(connection, reference)

    async def rotate(self, reference: str) -> NewKey:
        """Give the key a new generated secret; the old one stops working at once. Raises NotFound."""
        secret = generate()
        async with self._database.write() as connection:
            key = await _find(connection, reference)
            values = {"digest": digest(secret), "mask": mask(secret)}
            await connection.execute(update(api_keys).where(api_keys.c.id == key.id).values(values))
            return NewKey(await _find(connection, key.id), secret)

    async def update(self, reference: str, *, name: str | None = None, is_active: bool | None = None) -> ApiKey:
        """Rename the key, enable or disable it; None leaves as it is. Raises NotFound, BadRequest."""
        values: dict[str, Any] = {}
        if name is not None:
            values["name"] = words.name(name, "name", "Name")
        if is_active is not None:
            values["is_active"] = is_active
        async with self._database.write() as connection:
            key = await _find(connection, reference)
            if values:
                await connection.execute(update(api_keys).where(api_keys.c.id == key.id).values(values))
            return await _find(connection, key.id)

    async def delete(self, reference: str) -> int:
        """Remove the key of that id, or every key of that name; gives how many there were."""
        if not words.storable(reference):
            return 0
        async with self._database.write() as connection:
            for column in (api_keys.c.id, api_keys.c.name):
                gone = await connection.execute(delete(api_keys).where(column == reference))
                if gone.rowcount:
                    return gone.rowcount
        return 0


def from_row(row: Row[Any]) -> ApiKey:
    """The value of a row of `api_keys`."""
    return ApiKey(row.id, row.name, row.mask, row.is_active, moments.parse(row.created_at), row.digest)


async def _insert(connection: AsyncConnection, name: str, secret: str) -> NewKey:
    row = {
        "id": str(uuid.uuid4()),
        "name": name,
        "digest": digest(secret),
        "mask": mask(secret),
        "is_active": True,
        "created_at": moments.text(moments.now()),
    }
    try:
        await connection.execute(insert(api_keys).values(row))
    except IntegrityError:
        raise Conflict("There is a key with this secret already", param="key") from None
    return NewKey(await _find(connection, row["id"]), secret)


async def _find(connection: AsyncConnection, reference: Any) -> ApiKey:
    if words.storable(reference):
        query = select(api_keys).where(or_(api_keys.c.id == reference, api_keys.c.name == reference))
        rows = (await connection.execute(query.order_by(api_keys.c.position))).all()
        for row in (*(row for row in rows if row.id == reference), *rows):
            return from_row(row)
    raise NotFound(f"key '{reference}' not found")


def _checked(secret: str) -> str:
    if len(secret) < SHORTEST:
        raise BadRequest(f"A key needs {SHORTEST} characters or more", param="key")
    if secret != secret.strip() or not secret.isprintable() or not words.storable(secret):
        raise BadRequest(
            "A key that begins or ends with white space or holds control characters cannot be sent", param="key"
        )
    return secret
