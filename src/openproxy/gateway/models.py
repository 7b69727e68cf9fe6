"""The lists of models: GET /v1/models, /v1/models/stt, /v1/models/{kind}, /v1/models/info (section 1.6, decision 15)."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from openproxy.errors import BadRequest, NotFound
from openproxy.gateway import routing
from openproxy.gateway.auth import Caller
from openproxy.gateway.exchange import Exchange
from openproxy.gateway.routing import Route
from openproxy.gateway.services import Services
from openproxy.providers.aliases import canonical
from openproxy.providers.catalog import PROVIDERS, Entry, Model
from openproxy.store.snapshot import Snapshot

KIND = "stt"
_EMPTY_KINDS = ("image", "tts", "embedding", "image-to-text", "web")
"""Kinds of which this gateway has no model."""
_SUPPORTED = "image, tts, stt, embedding, image-to-text, web"
_ENDPOINT = "/v1/audio/transcriptions"
_CORS: Mapping[str, str] = {"access-control-allow-methods": "GET, OPTIONS", "access-control-allow-headers": "*"}


async def list_all(_services: Services, exchange: Exchange, snapshot: Snapshot, _caller: Caller) -> None:
    """Every model, with its kind."""
    await _send_list(exchange, list(_models(snapshot)))


async def info(_services: Services, exchange: Exchange, snapshot: Snapshot, _caller: Caller) -> None:
    """What is known about the model `?id=` (or `?model=`), and where it is called."""
    asked = (exchange.query("id") or exchange.query("model") or "").strip()
    if not asked:
        raise BadRequest("Missing required query param: id (e.g. ?id=openai/whisper-1)", param="id")
    found = routing.resolve(asked, snapshot.combos, snapshot.aliases)
    known = next((one for one in _models(snapshot) if _names(one, found)), None)
    if known is None:
        raise NotFound(f"Model not found: {asked}", param="id", code="model_not_found")
    facts = {key: value for key, value in known.items() if key in ("id", "kind", "formats", "max_bytes", "max_seconds")}
    told = {"object": "model.info", **facts, "provider": known["owned_by"], "model": _own_name(known)}
    if "shutdown_date" in known:
        told["shutdown_date"] = known["shutdown_date"]
    await exchange.json({**told, "endpoint": _ENDPOINT}, headers=_CORS)


async def one(exchange: Exchange, snapshot: Snapshot, name: str) -> None:
    """The models of a kind, or the one model of that id. Raises NotFound."""
    if name == KIND or name in _EMPTY_KINDS:
        await _send_list(exchange, list(_models(snapshot)) if name == KIND else [])
        return
    known = next((model for model in _models(snapshot) if model["id"] == name), None)
    if known is not None:
        await exchange.json(known, headers=_CORS)
        return
    if "/" in name:
        raise NotFound(f"Model not found: {name}", param="model", code="model_not_found")
    raise NotFound(f"Unknown model kind: {name}. Supported: {_SUPPORTED}", code="model_not_found")


async def _send_list(exchange: Exchange, models: list[dict[str, Any]]) -> None:
    await exchange.json({"object": "list", "data": models}, headers=_CORS)


def _models(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    """Every model that can be called: providers with an active account first, each id once."""
    created = int(time.time())
    active = {stored.provider for stored in snapshot.connections if stored.is_active and stored.credentialed}
    for entry in sorted(PROVIDERS.values(), key=lambda entry: entry.id not in active):
        for model in _of(entry, snapshot):
            yield _object(entry, model, created)


def _of(entry: Entry, snapshot: Snapshot) -> Iterator[Model]:
    """The catalogue's models of a provider, or those that its active accounts enable, where every one narrows them."""
    enabled = [
        _enabled(entry, stored.data.get("enabledModels"))
        for stored in snapshot.connections
        if stored.provider == entry.id and stored.is_active and stored.credentialed
    ]
    if not enabled or not all(enabled):
        yield from entry.models
        return
    for name in dict.fromkeys(name for names in enabled for name in names):
        yield entry.model(name) or Model(name, ())


def _enabled(entry: Entry, names: Any) -> list[str]:
    """The names of a connection's `enabledModels` without the provider or its alias before them."""
    if not isinstance(names, list):
        return []
    found = []
    for name in names:
        if isinstance(name, str) and (name := name.strip()):
            prefix, slash, rest = name.partition("/")
            found.append(rest if slash and rest and canonical(prefix) == entry.id else name)
    return found


def _object(entry: Entry, model: Model, created: int) -> dict[str, Any]:
    facts = {
        "formats": list(model.formats) or None,
        "max_bytes": model.max_bytes,
        "max_seconds": model.max_seconds,
        "shutdown_date": model.shutdown_date,
    }
    return {
        "id": f"{entry.id}/{model.id}",
        "object": "model",
        "created": created,
        "owned_by": entry.id,
        "permission": [],
        "root": model.id.rpartition("/")[2],
        "parent": None,
        "kind": model.kind,
        **{name: value for name, value in facts.items() if value is not None},
    }


def _own_name(model: dict[str, Any]) -> str:
    name: str = model["id"].partition("/")[2]
    return name


def _names(model: dict[str, Any], found: routing.Combo | Route) -> bool:
    return isinstance(found, Route) and model["id"] == f"{found.provider}/{found.model}"
