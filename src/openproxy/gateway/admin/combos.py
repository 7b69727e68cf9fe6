"""/api/combos: named lists of models (contracts/gateway.md, section 1.7)."""

from typing import Annotated

from pydantic import Field

from openproxy.errors import NotFound
from openproxy.gateway.admin.access import Opened, Tier, router
from openproxy.gateway.admin.answers import documented
from openproxy.gateway.admin.shapes import Asked, Done, Name, Told, moment
from openproxy.store.combos import Changes, Combo
from openproxy.store.tables import NAME_LENGTH

_ROOT = "/api/combos"
_WRITES = documented(400, 413, 415)

routes = router(Tier.ADMIN, "combos")

ComboName = Annotated[
    str,
    Field(
        max_length=NAME_LENGTH,
        json_schema_extra={"minLength": 1, "pattern": r"^[A-Za-z0-9._-]+$"},
    ),
]
Models = Annotated[list[Name], Field(max_length=1000, default_factory=list)]
Kind = Annotated[str, Field(max_length=64, pattern=r"^[^\x00-\x1f\x7f]*$", examples=["stt"])]


class NewCombo(Asked):
    """A combo to add."""

    name: ComboName
    models: Models
    kind: Kind | None = None


class ComboChanges(Asked):
    """What to change of a combo."""

    name: ComboName = ""
    models: Models
    disabled_models: Models
    kind: Kind | None = None


class ComboView(Told):
    """A combo."""

    id: str
    name: str
    models: list[str]
    disabled_models: list[str]
    kind: str | None
    created_at: str | None
    updated_at: str | None

    @classmethod
    def of(cls, combo: Combo) -> "ComboView":
        """All of it."""
        return cls(
            id=combo.id,
            name=combo.name,
            models=list(combo.models),
            disabled_models=list(combo.disabled_models),
            kind=combo.kind,
            created_at=moment(combo.created_at),
            updated_at=moment(combo.updated_at),
        )


class ComboList(Told):
    """Every combo, in the order of adding."""

    combos: list[ComboView]


@routes.get(_ROOT)
async def list_all(store: Opened) -> ComboList:
    """Every combo."""
    return ComboList(combos=[ComboView.of(combo) for combo in (await store.snapshot()).combos.values()])


@routes.post(_ROOT, status_code=201, responses=_WRITES)
async def add(body: NewCombo, store: Opened) -> ComboView:
    """Add a combo."""
    return ComboView.of(await store.combos.add(body.name, body.models, body.kind))


@routes.get(_ROOT + "/{combo_id}", responses=documented(404))
async def get(combo_id: str, store: Opened) -> ComboView:
    """The combo of that id or name."""
    return ComboView.of(await store.combos.get(combo_id))


@routes.put(_ROOT + "/{combo_id}", responses=_WRITES | documented(404))
async def change(combo_id: str, asked: ComboChanges, store: Opened) -> ComboView:
    """Change what the body names."""
    given = asked.model_fields_set
    changes: Changes = {}
    if "name" in given:
        changes["name"] = asked.name
    if "models" in given:
        changes["models"] = asked.models
    if "disabled_models" in given:
        changes["disabled_models"] = asked.disabled_models
    if "kind" in given:
        changes["kind"] = asked.kind
    return ComboView.of(await store.combos.update(combo_id, **changes))


@routes.delete(_ROOT + "/{combo_id}", responses=documented(404))
async def delete(combo_id: str, store: Opened) -> Done:
    """Remove a combo."""
    if not await store.combos.delete(combo_id):
        raise NotFound("Combo not found")
    return Done(message="Combo deleted successfully")
