"""/api/keys: the keys that open this server (contracts/gateway.md, section 1.7, decision 19).

A secret is shown once, in the answer to the request that made it; everywhere else stands its mask.
"""

from typing import Annotated

from pydantic import Field, StrictBool

from openproxy.errors import NotFound
from openproxy.gateway.admin.access import Opened, Tier, router
from openproxy.gateway.admin.answers import documented
from openproxy.gateway.admin.shapes import Asked, Done, Name, Told, moment
from openproxy.store import Store
from openproxy.store.keys import SHORTEST, ApiKey

_ROOT = "/api/keys"

routes = router(Tier.ADMIN, "keys")


class NewKeyBody(Asked):
    """A key to make."""

    name: Name
    key: Annotated[
        str | None,
        Field(
            max_length=1024,
            description=f"The secret, kept as it is: {SHORTEST} printable characters or more. Empty or absent: generated.",
            json_schema_extra={"pattern": rf"^([!-~][ -~]{{{SHORTEST - 2},}}[!-~])?$", "writeOnly": True},
        ),
    ] = None


class KeyChanges(Asked):
    """What to change of a key."""

    name: Name | None = None
    is_active: StrictBool | None = None


class KeyView(Told):
    """A key, without its secret."""

    id: str
    name: str
    key: Annotated[str, Field(description="Its mask.")]
    machine_id: None = None
    is_active: bool
    created_at: str | None

    @classmethod
    def of(cls, key: ApiKey) -> "KeyView":
        """What may be shown."""
        return cls(id=key.id, name=key.name, key=key.mask, is_active=key.is_active, created_at=moment(key.created_at))


class KeyList(Told):
    """Every key, in the order of adding."""

    keys: list[KeyView]


class OneKey(Told):
    """One key."""

    key: KeyView


class MadeKey(Told):
    """A key that was just made."""

    key: Annotated[str, Field(description="The secret, shown this once.")]
    name: str
    id: str
    machine_id: None = None


@routes.get(_ROOT)
async def list_all(store: Opened) -> KeyList:
    """Every key, active or not."""
    return KeyList(keys=[KeyView.of(key) for key in (await store.snapshot()).keys])


@routes.post(_ROOT, status_code=201, responses=documented(400, 409, 413, 415))
async def add(body: NewKeyBody, store: Opened) -> MadeKey:
    """Make a key. Names may repeat, secrets may not."""
    made = await store.keys.add(body.name, body.key or None)
    return MadeKey(key=made.secret, name=made.key.name, id=made.key.id)


@routes.get(_ROOT + "/{key_id}", responses=documented(404))
async def get(key_id: str, store: Opened) -> OneKey:
    """One key."""
    return OneKey(key=KeyView.of(await _find(store, key_id)))


@routes.put(_ROOT + "/{key_id}", responses=documented(400, 404, 413, 415))
async def change(key_id: str, changes: KeyChanges, store: Opened) -> OneKey:
    """Rename a key, enable or disable it."""
    key = await _find(store, key_id)
    return OneKey(key=KeyView.of(await store.keys.update(key.id, name=changes.name, is_active=changes.is_active)))


@routes.delete(_ROOT + "/{key_id}", responses=documented(404))
async def delete(key_id: str, store: Opened) -> Done:
    """Remove a key: it stops working at once."""
    # of several requests side by side one finds it
    if not await store.keys.delete((await _find(store, key_id)).id):
        raise _missing()
    return Done(message="API key deleted")


async def _find(store: Store, key_id: str) -> ApiKey:
    found = next((key for key in (await store.snapshot()).keys if key.id == key_id), None)
    if found is None:
        raise _missing()
    return found


def _missing() -> NotFound:
    return NotFound("API key not found")
