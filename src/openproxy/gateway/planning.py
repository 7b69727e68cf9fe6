"""The model of a request -> who is going to be asked: a provider, its own name for the model, its accounts in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from openproxy.gateway import fallback, routing
from openproxy.gateway.call import Call
from openproxy.gateway.routing import Route
from openproxy.providers.catalog import Entry
from openproxy.store.connections import StoredConnection
from openproxy.store.snapshot import Snapshot
from openproxy.transcript import Task


@dataclass(frozen=True, slots=True)
class Plan:
    """What a request comes to."""

    entry: Entry
    model: str
    accounts: Sequence[StoredConnection]
    """At least one."""


def plan(snapshot: Snapshot, name: str, task: Task, call: Call) -> Plan:
    """The plan for the model `name`, as the client wrote it; `call` learns provider and model.

    Raises BadRequest where nobody does this, and 429 where every account is cooling down.
    """
    found = routing.resolve(name, snapshot.combos, snapshot.aliases)
    entry = routing.transcriber(found, task)
    model = found.model if isinstance(found, Route) else ""
    call.provider, call.model = entry.id, model
    now = datetime.now(UTC)
    return Plan(entry, model, fallback.ready(snapshot.candidates(entry.id, now, model), entry.id, now))
