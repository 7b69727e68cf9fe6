"""`openproxy key apply`: a document of keys, and what it changes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from openproxy.cli.robot import CommandError
from openproxy.store.keys import ApiKey, Keys, digest

_KNOWN = {"name", "key", "isActive"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """One key of the document."""

    name: str
    secret: str | None = field(repr=False)
    """None: keep the one that there is, else make one."""
    is_active: bool


@dataclass(slots=True)
class Outcome:
    """What was done, by names."""

    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict, repr=False)
    """Secrets that were generated, by the key's name: the only time that they are known."""

    def diff(self) -> dict[str, list[str]]:
        """The names under the names of their fates."""
        fates = ("created", "updated", "unchanged", "deleted")
        return {fate: getattr(self, fate) for fate in fates}

    def summary(self) -> str:
        """`1 created, 0 updated, 2 unchanged, 0 deleted`."""
        return ", ".join(f"{len(names)} {fate}" for fate, names in self.diff().items())


def read(document: Any) -> list[Wanted]:
    """The keys in a document, a list or `{"keys": [...]}`. Raises CommandError (validation) saying what is wrong."""
    rows = document.get("keys") if isinstance(document, dict) else document
    if not isinstance(rows, list):
        raise _bad('expected a JSON list of keys, or {"keys": [...]}')
    wanted = [_one(place, row) for place, row in enumerate(rows, start=1)]
    names = [one.name for one in wanted]
    for name in names:
        if names.count(name) > 1:
            raise _bad(f"the name '{name}' stands twice")
    return wanted


async def apply(keys: Keys, wanted: Sequence[Wanted], *, prune: bool) -> Outcome:
    """Bring the stored keys to what is wanted. Raises BadRequest, Conflict for a secret that another key has."""
    outcome = Outcome()
    present = await keys.list()
    for one in wanted:
        found = next((key for key in present if key.name == one.name), None)
        await _bring(keys, found, one, outcome)
    if prune:
        names = {one.name for one in wanted}
        for key in present:
            if key.name not in names:
                await keys.delete(key.id)
                outcome.deleted.append(key.name)
    return outcome


async def _bring(keys: Keys, found: ApiKey | None, one: Wanted, outcome: Outcome) -> None:
    if found is not None and (one.secret is None or digest(one.secret) == found.digest):
        if found.is_active == one.is_active:
            outcome.unchanged.append(one.name)
            return
        await keys.update(found.id, is_active=one.is_active)
        outcome.updated.append(one.name)
        return
    added = await keys.add(one.name, one.secret)
    if not one.is_active:
        await keys.update(added.key.id, is_active=False)
    if one.secret is None:
        outcome.made[one.name] = added.secret
    if found is None:
        outcome.created.append(one.name)
    else:
        await keys.delete(found.id)
        outcome.updated.append(one.name)


def _one(place: int, row: Any) -> Wanted:
    if not isinstance(row, dict):
        raise _bad(f"entry {place} is not an object")
    unknown = sorted(set(row) - _KNOWN)
    if unknown:
        raise _bad(f"entry {place} has the unknown field '{unknown[0]}'; known are {', '.join(sorted(_KNOWN))}")
    name, secret, active = row.get("name"), row.get("key"), row.get("isActive", True)
    if not isinstance(name, str) or not name.strip():
        raise _bad(f"entry {place} has no name")
    if not (secret is None or isinstance(secret, str)):
        raise _bad(f"entry {place}: key is not text")
    if not isinstance(active, bool):
        raise _bad(f"entry {place}: isActive is neither true nor false")
    return Wanted(name.strip(), secret, active)


def _bad(reason: str) -> CommandError:
    return CommandError("validation", f"bad key document: {reason}")
