"""Combos: named lists of models (contracts/gateway.md, section 1.7)."""

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, Unpack

from sqlalchemy import Row, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from openproxy.errors import BadRequest, NotFound
from openproxy.store import moments, words
from openproxy.store.database import Database
from openproxy.store.tables import combos
from openproxy.store.unbroken import repository

_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Combo:
    """A named list of models."""

    id: str
    name: str
    kind: str | None
    """`stt`, `llm` and so on."""
    models: tuple[str, ...]
    disabled_models: tuple[str, ...]
    created_at: datetime | None
    updated_at: datetime | None


class Changes(TypedDict, total=False):
    """What `update` may change."""

    name: str
    kind: str | None
    models: Sequence[str]
    disabled_models: Sequence[str]


@repository
class Combos:
    """The repository of combos. A reference is an id or a name."""

    def __init__(self, database: Database):
        self._database = database

    async def add(self, name: str, models: Sequence[str], kind: str | None = None) -> Combo:
        """Add a combo. Raises BadRequest for a name that is blank, malformed or taken."""
        moment = moments.text(moments.now())
        row: dict[str, Any] = {
            "id": str(uuid.uuid4()),
            "disabled_models": [],
            "created_at": moment,
            "updated_at": moment,
        }
        row |= _checked({"name": name, "models": models, "kind": kind})
        async with self._database.write() as connection:
            try:
                await connection.execute(insert(combos).values(row))
            except IntegrityError:
                raise _taken() from None
            return await _find(connection, row["id"])

    async def list(self) -> list[Combo]:
        """All combos in the order of adding."""
        async with self._database.read() as connection:
            return [from_row(row) for row in await connection.execute(select(combos).order_by(combos.c.position))]

    async def get(self, reference: str) -> Combo:
        """The combo. Raises NotFound."""
        async with self._database.read() as connection:
            return await _find(connection, reference)

    async def update(self, reference: str, **changes: Unpack[Changes]) -> Combo:
        """Change what is named in `changes`. Raises NotFound, BadRequest."""
        row = _checked(changes) | {"updated_at": moments.text(moments.now())}
        async with self._database.write() as connection:
            combo = await _find(connection, reference)
            try:
                await connection.execute(update(combos).where(combos.c.id == combo.id).values(row))
            except IntegrityError:
                raise _taken() from None
            return await _find(connection, combo.id)

    async def delete(self, reference: str) -> bool:
        """Remove the combo; False where there is none."""
        async with self._database.write() as connection:
            try:
                combo = await _find(connection, reference)
            except NotFound:
                return False
            await connection.execute(delete(combos).where(combos.c.id == combo.id))
            return True


def from_row(row: Row[Any]) -> Combo:
    """The value of a row of `combos`."""
    return Combo(
        id=row.id,
        name=row.name,
        kind=row.kind,
        models=tuple(row.models),
        disabled_models=tuple(row.disabled_models),
        created_at=moments.parse(row.created_at),
        updated_at=moments.parse(row.updated_at),
    )


def _checked(changes: Changes) -> dict[str, Any]:
    row: dict[str, Any] = {}
    if "name" in changes:
        row["name"] = words.name(changes["name"], "name", "Name")
        if not _NAME.fullmatch(row["name"]):
            raise BadRequest("Name can only contain letters, numbers, -, _ and .", param="name")
    if "kind" in changes:
        kind = changes["kind"]
        if kind is not None and (len(kind) > 64 or not words.storable(kind)):
            raise BadRequest("kind is not the name of a kind", param="kind")
        row["kind"] = kind
    if "models" in changes:
        row["models"] = list(changes["models"])
    if "disabled_models" in changes:
        row["disabled_models"] = list(changes["disabled_models"])
    return row


async def _find(connection: AsyncConnection, reference: str) -> Combo:
    if words.storable(reference):
        query = select(combos).where(or_(combos.c.id == reference, combos.c.name == reference))
        for row in (await connection.execute(query.order_by(combos.c.position))).all():
            return from_row(row)
    raise NotFound("Combo not found")


def _taken() -> BadRequest:
    return BadRequest("Combo name already exists", param="name")
