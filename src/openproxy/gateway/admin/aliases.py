"""/api/models/alias: names of the user's own for models (contracts/gateway.md, sections 1.7 and 4)."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query
from pydantic import AfterValidator, Field, model_validator

from openproxy.errors import BadRequest, NotFound
from openproxy.gateway import routing
from openproxy.gateway.admin.access import Opened, Tier, router
from openproxy.gateway.admin.answers import documented
from openproxy.gateway.admin.shapes import Asked, Told
from openproxy.gateway.admin.wording import wrong
from openproxy.store import Store
from openproxy.store.aliases import Target
from openproxy.store.tables import NAME_LENGTH

_ROOT = "/api/models/alias"
_WRITES = documented(400, 413, 415)

routes = router(Tier.ADMIN, "model aliases")


def _model(value: str) -> str:
    trimmed = value.strip()
    if not trimmed:
        raise wrong("Model required")
    if trimmed.startswith("/"):
        raise wrong("Invalid model format")
    return trimmed


def _alias(value: str) -> str:
    trimmed = value.strip()
    if not trimmed:
        raise wrong("Alias required")
    if "/" in trimmed:
        raise wrong("An alias cannot hold a slash: such a name is always provider/model")
    return trimmed


ModelName = Annotated[
    str,
    Field(
        max_length=NAME_LENGTH,
        pattern=r"^[^\x00-\x1f\x7f]*$",
        description="`provider/model`; a bare name is stored with the provider that it would be routed to.",
        examples=["groq/whisper-large-v3-turbo"],
        json_schema_extra={"minLength": 1, "pattern": r"^ *[^\s\x00-\x20\x7f/][^\x00-\x1f\x7f]*$"},
    ),
    AfterValidator(_model),
]
AliasName = Annotated[
    str,
    Field(
        max_length=NAME_LENGTH,
        pattern=r"^[^\x00-\x1f\x7f]*$",
        description="Has no slash: a name with one is always `provider/model`.",
        examples=["fast"],
        json_schema_extra={"minLength": 1, "pattern": r"^[^\x00-\x1f\x7f/]*[^\s\x00-\x20\x7f/][^\x00-\x1f\x7f/]*$"},
    ),
    AfterValidator(_alias),
]


class NewAlias(Asked):
    """An alias to add, or to point elsewhere."""

    model: ModelName
    alias: AliasName

    @model_validator(mode="before")
    @classmethod
    def _both(cls, given: Any) -> Any:
        if isinstance(given, Mapping):
            for name in ("model", "alias"):
                value = given.get(name)
                if value is None or (isinstance(value, str) and not value.strip()):
                    raise wrong("Model and alias required")
        return given


class NewTarget(Asked):
    """What an alias is to stand for."""

    target: ModelName


class Aliases(Told):
    """Every alias with its target."""

    aliases: dict[str, str | dict[str, Any]]


class SetAlias(Told):
    """The alias as it is now stored."""

    success: bool = True
    model: str
    alias: str


class AliasView(Told):
    """One alias."""

    alias: str
    target: str | dict[str, Any]


class Removed(Told):
    """It is gone."""

    success: bool = True


@routes.get(_ROOT)
async def list_all(store: Opened) -> Aliases:
    """Every alias."""
    known = (await store.snapshot()).aliases
    return Aliases(aliases={alias: _shown(target) for alias, target in known.items()})


@routes.put(_ROOT, responses=_WRITES)
async def put(body: NewAlias, store: Opened) -> SetAlias:
    """Add an alias, or point it elsewhere."""
    return SetAlias(model=await _set(store, body.alias, body.model), alias=body.alias)


@routes.delete(_ROOT, responses=documented(400, 404))
async def delete(alias: Annotated[str, Query()], store: Opened) -> Removed:
    """Remove an alias."""
    return await _delete(store, alias)


@routes.get(_ROOT + "/{alias}", responses=documented(404))
async def get(alias: str, store: Opened) -> AliasView:
    """What an alias stands for."""
    target = (await store.snapshot()).aliases.get(alias)
    if target is None:
        raise _unknown()
    return AliasView(alias=alias, target=_shown(target))


@routes.put(_ROOT + "/{alias}", responses=_WRITES)
async def put_target(alias: AliasName, body: NewTarget, store: Opened) -> SetAlias:
    """Add an alias, or point it elsewhere."""
    return SetAlias(model=await _set(store, alias, body.target), alias=alias)


@routes.delete(_ROOT + "/{alias}", responses=documented(404))
async def delete_one(alias: str, store: Opened) -> Removed:
    """Remove an alias."""
    return await _delete(store, alias)


async def _set(store: Store, alias: str, model: str) -> str:
    """Store the alias and give the model that it stands for. Raises BadRequest where there can be none."""
    found = routing.resolve(model, (), {})
    if isinstance(found, routing.Combo):
        raise BadRequest("An alias cannot stand for a combo", param="model")
    target = model if "/" in model else f"{found.provider}/{found.model}"
    await store.aliases.set(alias, target)
    return target


async def _delete(store: Store, alias: str) -> Removed:
    if not await store.aliases.delete(alias):
        raise _unknown()
    return Removed()


def _unknown() -> NotFound:
    return NotFound("Alias not found")


def _shown(target: Target) -> str | dict[str, Any]:
    return target if isinstance(target, str) else dict(target)
