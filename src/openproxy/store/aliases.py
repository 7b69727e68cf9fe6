"""Model aliases: a name of the user's for a model of a provider (contracts/gateway.md, section 4)."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, insert, select, update

from openproxy.errors import BadRequest, NotFound
from openproxy.store import words
from openproxy.store.database import Database
from openproxy.store.tables import aliases
from openproxy.store.unbroken import repository

Target = str | Mapping[str, Any]
"""`provider/model`, or an object with `provider` and `model`."""


@repository
class Aliases:
    """The repository of model aliases."""

    def __init__(self, database: Database):
        self._database = database

    async def set(self, alias: str, target: Target) -> None:
        """Add the alias or point it elsewhere. Raises BadRequest where either is blank."""
        if not alias.strip() or not (target.strip() if isinstance(target, str) else target):
            raise BadRequest("Model and alias required", param="model" if alias.strip() else "alias")
        alias = words.name(alias, "alias", "Alias")
        value = target.strip() if isinstance(target, str) else dict(target)
        async with self._database.write() as connection:
            changed = await connection.execute(update(aliases).where(aliases.c.alias == alias).values(target=value))
            if changed.rowcount == 0:
                await connection.execute(insert(aliases).values(alias=alias, target=value))

    async def list(self) -> dict[str, Target]:
        """Every alias with its target, by name."""
        async with self._database.read() as connection:
            rows = await connection.execute(select(aliases).order_by(aliases.c.alias))
            return {row.alias: row.target for row in rows}

    async def get(self, alias: str) -> Target:
        """The target. Raises NotFound."""
        found = (await self.list()).get(alias)
        if found is None:
            raise NotFound(f"alias '{alias}' not found")
        return found

    async def delete(self, alias: str) -> bool:
        """Remove the alias; False where there is none."""
        if not words.storable(alias):
            return False
        async with self._database.write() as connection:
            return (await connection.execute(delete(aliases).where(aliases.c.alias == alias))).rowcount > 0
