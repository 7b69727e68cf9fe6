"""/api/media-providers: accounts by what they are for (contracts/gateway.md, section 1.5).

Whatever adds, changes or removes asks for an API key; what a dashboard shows may be read with its session.
"""

from typing import Annotated

from fastapi import Query

from openproxy.errors import Conflict, NotFound
from openproxy.gateway.admin import accounts, kinds
from openproxy.gateway.admin.access import Opened, Tier, router
from openproxy.gateway.admin.accounts import provider_id
from openproxy.gateway.admin.answers import documented
from openproxy.gateway.admin.media_bodies import (
    STT,
    Added,
    AllKinds,
    ComboMembers,
    Listed,
    MediaAccount,
    MediaChanges,
    Member,
    OfKind,
    Summary,
)
from openproxy.gateway.admin.shapes import Done
from openproxy.providers.catalog import PROVIDERS
from openproxy.store import Store
from openproxy.store.connections import Changes, StoredConnection

_ROOT = "/api/media-providers"
_MISSING = "Media provider not found"
_WRITES = documented(400, 413, 415)

keyed = router(Tier.KEY, "media providers")
shown = router(Tier.ADMIN, "media providers")


@keyed.post(_ROOT, status_code=201, responses=_WRITES)
async def add(account: MediaAccount, store: Opened) -> Added:
    """Add an account. One of the same provider and name is replaced: it keeps its place and gets a new id."""
    stored = await store.connections.add(
        provider_id(account.provider),
        account.name,
        api_key=account.api_key and account.api_key.strip(),
        data=account.data(),
        priority=account.priority,
        is_active=account.is_active,
    )
    return Added(id=stored.id, message="Media provider added successfully")


@keyed.get(_ROOT)
async def list_active(store: Opened) -> AllKinds:
    """The active accounts by kind, without secrets."""
    found: dict[str, list[Listed]] = {kind: [] for kind in kinds.MEDIA_TYPES}
    for stored in (await store.snapshot()).connections:
        kind = kinds.kind_of(stored)
        if stored.is_active and kind in found:
            found[kind].append(_listed(stored))
    return AllKinds(**found)


@keyed.delete(_ROOT, responses=documented(400, 404))
async def delete(connection_id: Annotated[str, Query(alias="id")], store: Opened) -> Done:
    """Remove the account of that id, of whatever kind it is."""
    return await _delete(store, connection_id)


@shown.get(_ROOT + "/combo/{combo_id}", responses=documented(404))
async def combo(combo_id: str, store: Opened) -> ComboMembers:
    """A combo with its models."""
    found = await store.combos.get(combo_id)
    members = [Member(id=model, name=model) for model in found.models]
    return ComboMembers(id=found.id, name=found.name, description=found.kind, active=True, providers=members)


@shown.get(_ROOT + "/{kind}", responses=documented(404))
async def list_kind(kind: str, store: Opened) -> OfKind:
    """The accounts of one kind, active or not, without secrets."""
    wanted = kinds.members(kind)
    connections = (await store.snapshot()).connections
    found = [(stored, kinds.kind_of(stored)) for stored in connections]
    return OfKind(
        kind=kind, providers=[Summary.of(stored, of) for stored, of in found if of is not None and of in wanted]
    )


@shown.get(_ROOT + "/{kind}/{connection_id}", responses=documented(404))
async def get(kind: str, connection_id: str, store: Opened) -> Summary:
    """One account."""
    stored = await _of_kind(store, kind, connection_id)
    return Summary.of(stored, kinds.kind_of(stored) or kind)


@keyed.put(_ROOT + "/{connection_id}", responses=_WRITES | documented(404, 409))
async def change(connection_id: str, changes: MediaChanges, store: Opened) -> Added:
    """Change what the body names; `extra` is merged into what is there."""
    return await _change(store, await accounts.find(store, connection_id, _MISSING), changes)


@keyed.put(_ROOT + "/{kind}/{connection_id}", responses=_WRITES | documented(404, 409))
async def change_of_kind(kind: str, connection_id: str, changes: MediaChanges, store: Opened) -> Added:
    """The same for an account that has to be of that kind."""
    return await _change(store, await _of_kind(store, kind, connection_id), changes)


@keyed.delete(_ROOT + "/{reference}", responses=documented(404))
async def delete_one(
    reference: str, store: Opened, connection_id: Annotated[str | None, Query(alias="id")] = None
) -> Done:
    """Remove the account: the path ends in its id, or in any kind when `?id=` names it."""
    if connection_id is None:
        return await _delete(store, reference)
    kinds.members(reference)
    return await _delete(store, connection_id)


async def _delete(store: Store, connection_id: str) -> Done:
    if not await store.connections.delete(connection_id):
        raise NotFound(_MISSING)
    return Done(message="Media provider deleted successfully")


async def _change(store: Store, stored: StoredConnection, asked: MediaChanges) -> Added:
    provider = provider_id(asked.provider)
    if provider and provider != stored.provider:
        raise Conflict(f"This account is one of {stored.provider}; add another one for {provider}")
    row: Changes = {}
    if asked.given("name"):
        row["name"] = asked.name
    if asked.given("priority"):
        row["priority"] = asked.priority
    if asked.given("is_active"):
        row["is_active"] = asked.is_active
    if asked.given("api_key"):
        row["api_key"] = asked.api_key and asked.api_key.strip()
    if changed := asked.data():
        row["data"] = accounts.merged(stored.data, changed)
        if changed.get("mediaType") == STT and stored.provider not in PROVIDERS:
            raise Conflict(f"Provider '{stored.provider}' does not support STT")
    changed_one = await store.connections.update(stored.id, **row)
    return Added(id=changed_one.id, message="Media provider updated successfully")


async def _of_kind(store: Store, kind: str, connection_id: str) -> StoredConnection:
    wanted = kinds.members(kind)
    stored = await accounts.find(store, connection_id, _MISSING)
    if kinds.kind_of(stored) not in wanted:
        raise NotFound(f"Provider {connection_id} is not of kind {kind}")
    return stored


def _listed(stored: StoredConnection) -> Listed:
    shown_name = stored.data.get("displayName")
    return Listed(
        id=stored.id,
        name=stored.name,
        provider=stored.provider,
        is_active=stored.is_active,
        display_name=shown_name if isinstance(shown_name, str) else None,
    )
