"""Accounts as JSON describes them, for `openproxy provider add` and `apply`; the same fields as /api/media-providers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from openproxy.cli.engine_child import OWNER
from openproxy.cli.robot import CommandError
from openproxy.gateway.admin import accounts, wording
from openproxy.gateway.admin.media_bodies import MediaAccount
from openproxy.store import Store
from openproxy.store.connections import Changes, StoredConnection

_SPECIFIC = "providerSpecificData"
_KNOWN = {
    *("provider", "name", "mediaType", "apiKey", "baseUrl", "enabledModels", "priority", "isActive", "defaultModel"),
    *("extra", _SPECIFIC),
}


@dataclass(frozen=True, slots=True)
class Account:
    """One account that is wanted."""

    provider: str
    name: str
    api_key: str | None = field(repr=False)
    priority: int | None
    is_active: bool
    data: dict[str, Any]

    @property
    def label(self) -> str:
        """`openai/main`."""
        return f"{self.provider}/{self.name}"


@dataclass(slots=True)
class Outcome:
    """What was done, or would be, by `provider/name`."""

    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)

    def diff(self) -> dict[str, list[str]]:
        """The labels under the names of their fates."""
        fates = ("created", "updated", "unchanged", "deleted")
        return {fate: getattr(self, fate) for fate in fates}

    def summary(self) -> str:
        """`1 created, 0 updated, 2 unchanged, 0 deleted`."""
        return ", ".join(f"{len(labels)} {fate}" for fate, labels in self.diff().items())


def read_one(document: dict[str, Any], where: str = "") -> Account:
    """The account that a JSON object describes. Raises CommandError (validation) naming the field."""
    unknown = sorted(set(document) - _KNOWN)
    if unknown:
        raise _bad(f"there is no field '{unknown[0]}'; known are {', '.join(sorted(_KNOWN))}", where)
    given = {"mediaType": "stt", **document}
    extra = given.pop("extra", {}), given.pop(_SPECIFIC, {})
    if not all(isinstance(one, dict) for one in extra):
        raise _bad(f"extra and {_SPECIFIC} are objects", where)
    specific = {**extra[1], **extra[0]}
    if given.get("defaultModel"):
        specific["defaultModel"] = given.pop("defaultModel")
    try:
        account = MediaAccount.model_validate({**given, "extra": specific})
    except ValidationError as error:
        raise _bad(sentence(error), where) from None
    key = (account.api_key or "").strip() or None
    provider = accounts.provider_id(account.provider)
    return Account(provider, account.name.strip(), key, account.priority, account.is_active, account.data())


def sentence(error: ValidationError) -> str:
    """What a model refuses, in the words of the HTTP side."""
    return wording.sentence([{**found, "loc": ("body", *found["loc"])} for found in error.errors()])


def read(document: Any) -> list[Account]:
    """The accounts in a list or `{"providers": [...]}`. Raises CommandError (validation)."""
    rows = document.get("providers") if isinstance(document, dict) else document
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _bad('expected a JSON list of accounts, or {"providers": [...]}', "")
    wanted = [read_one(row, f"entry {place}") for place, row in enumerate(rows, start=1)]
    labels = [one.label for one in wanted]
    for label in labels:
        if labels.count(label) > 1:
            raise _bad(f"{label} stands twice", "")
    return wanted


async def add(store: Store, one: Account) -> StoredConnection:
    """Store the account in the place of the one of its provider and name."""
    return await store.connections.add(
        one.provider,
        one.name,
        api_key=one.api_key,
        data=one.data,
        priority=one.priority,
        is_active=one.is_active,
    )


async def apply(store: Store, wanted: Sequence[Account], *, prune: bool, dry_run: bool) -> Outcome:
    """Bring the stored accounts to what is wanted; an account without "apiKey" keeps the one it has.

    Accounts that a server keeps for its engines are left alone. Raises SecretUnreadable.
    """
    outcome = Outcome()
    present = {(stored.provider, stored.name): stored for stored in await store.connections.list()}
    for one in wanted:
        found = present.pop((one.provider, one.name), None)
        if found is None:
            outcome.created.append(one.label)
            if not dry_run:
                await add(store, one)
        elif changes := await _changes(store, found, one):
            outcome.updated.append(one.label)
            if not dry_run:
                await store.connections.update(found.id, **changes)
        else:
            outcome.unchanged.append(one.label)
    if prune:
        for stored in present.values():
            if OWNER in stored.data:
                continue
            outcome.deleted.append(f"{stored.provider}/{stored.name}")
            if not dry_run:
                await store.connections.delete(stored.id)
    return outcome


async def _changes(store: Store, found: StoredConnection, one: Account) -> Changes:
    secrets = await store.connections.open(found)
    changes: Changes = {}
    if one.api_key is not None and one.api_key != secrets.api_key:
        changes["api_key"] = one.api_key
    if one.priority != found.priority:
        changes["priority"] = one.priority
    if one.is_active != found.is_active:
        changes["is_active"] = one.is_active
    if one.data != dict(secrets.data):
        changes["data"] = one.data
    return changes


def _bad(reason: str, where: str) -> CommandError:
    return CommandError("validation", f"bad provider document: {f'{where}: ' if where else ''}{reason}")
