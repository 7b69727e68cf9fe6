"""Where a chat server is and what it says of itself: its model, whether that hears, its context, its template.

Sources: llama-server's README (`/v1/models`, `/props`); vLLM's and SGLang's `/v1/models` (`max_model_len`).
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from openproxy.engine.models.chat_events import json_object
from openproxy.errors import ModelUnusable, UpstreamError
from openproxy.providers.http import Client
from openproxy.upload import Connection

Kind = Literal["llamacpp", "vllm", "sglang"]

_KINDS: Mapping[str, Kind] = {"llamacpp": "llamacpp", "vllm": "vllm", "sglang": "sglang"}
"""`owned_by` of /v1/models -> the server."""
_ROUTE = re.compile(r"/(?:chat/completions|completions|models|audio/transcriptions|props|health)$")
_ANSWER_SECONDS = 15.0
_LOADING_SECONDS = 600.0
"""How long a server that is loading its model is waited for."""
_PAUSE_SECONDS, _LONGEST_PAUSE = 0.5, 5.0


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What is known of a chat server."""

    model: str
    """The model as the server calls it."""
    kind: Kind | None = None
    """Which server it is; None for any other."""
    takes_audio: bool | None = None
    """Whether the model hears; None where the server does not say."""
    context: int | None = None
    """Tokens of its context."""
    template: str | None = None
    """Its chat template."""


@dataclass(frozen=True, slots=True)
class Access:
    """How a chat server is reached."""

    client: Client
    connection: Connection
    """Holds the key; its `base_url` is the address from `base_url`."""
    headers: Mapping[str, str]

    def url(self, path: str) -> str:
        """The address of a route below /v1; the query of the base URL is kept."""
        parts = urlsplit(self.connection.base_url or "")
        return urlunsplit(parts._replace(path=parts.path + path))


def base_url(address: str) -> str:
    """The address that ends in the version, as in `http://host/v1`, from any spelling: without it, with a route behind it.

    Raises ModelUnusable for what is no http or https address, or holds a password.
    """
    try:
        parts = urlsplit(address.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not address.isprintable() or " " in address.strip():
        raise ModelUnusable("the URL of the chat server is not an http or https address")
    if "@" in parts.netloc:
        raise ModelUnusable(
            "the URL of the chat server must not hold a user name or a password; the key goes into the environment"
        )
    path = _ROUTE.sub("", parts.path.rstrip("/"))
    if not re.search(r"/v\d+[a-z]*$", path):
        path += "/v1"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


async def identify(access: Access, model: str) -> ServerFacts:
    """Ask a server about its model `model`, or its only one for "".

    Waits while it is loading. Raises ModelUnusable where it is out of reach, refuses the key or has no such model.
    """
    entries = await _models(access)
    names = [entry["id"] for entry in entries]
    if not model and len(entries) != 1:
        listed = f"it serves {', '.join(names)}" if names else "it does not say which it has"
        raise ModelUnusable(f"add #model to the URL of the chat server: {listed}")
    entry = entries[0] if not model else next((entry for entry in entries if model in _names(entry)), None)
    kind = _KINDS.get(str((entry or next(iter(entries), {})).get("owned_by", "")).lower())
    if entry is None:
        if kind is not None:
            raise ModelUnusable(f"the chat server has no model {model!r}; it serves {', '.join(names)}")
        return ServerFacts(model)
    facts = _listed(entry, kind)
    return await _with_props(access, facts) if kind == "llamacpp" else facts


def _names(entry: Mapping[str, Any]) -> set[str]:
    aliases = entry.get("aliases")
    return {entry["id"], *(map(str, aliases) if isinstance(aliases, list) else ())}


def _listed(entry: Mapping[str, Any], kind: Kind | None) -> ServerFacts:
    """What an entry of /v1/models tells."""
    architecture, meta = entry.get("architecture"), entry.get("meta")
    modalities = architecture.get("input_modalities") if isinstance(architecture, dict) else None
    return ServerFacts(
        model=entry["id"],
        kind=kind,
        takes_audio="audio" in modalities if isinstance(modalities, list) else None,
        context=_tokens(entry, "max_model_len") or (_tokens(meta, "n_ctx") if isinstance(meta, dict) else None),
    )


def _tokens(facts: Mapping[str, Any], name: str) -> int | None:
    """A number of tokens; None for what is none."""
    value = facts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


async def _with_props(access: Access, facts: ServerFacts) -> ServerFacts:
    """With what llama-server's /props tells, which lies beside /v1; unchanged where it is not served."""
    parts = urlsplit(access.url(""))
    try:
        props = await _get(access, urlunsplit(parts._replace(path=parts.path.removesuffix("/v1") + "/props")))
    except UpstreamError:
        return facts
    modalities, template, settings = (
        props.get(name) for name in ("modalities", "chat_template", "default_generation_settings")
    )
    hears = modalities.get("audio") if isinstance(modalities, dict) else None
    context = _tokens(settings, "n_ctx") if isinstance(settings, dict) else None
    return replace(
        facts,
        takes_audio=hears if isinstance(hears, bool) else facts.takes_audio,
        template=template if isinstance(template, str) else None,
        context=context or facts.context,
    )


async def _models(access: Access) -> list[dict[str, Any]]:
    """The entries of /v1/models; none where there is no such list."""
    waited = 0.0
    while True:
        try:
            listed = (await _get(access, access.url("/models"))).get("data")
        except UpstreamError as error:
            if error.status == 503 and waited < _LOADING_SECONDS:
                pause = min(error.retry_after or _PAUSE_SECONDS, _LONGEST_PAUSE)
                await asyncio.sleep(pause)
                waited += pause
                continue
            if error.status in (404, 405, 501):
                return []
            raise ModelUnusable(_why(error)) from None
        return [item for item in listed if _is_entry(item)] if isinstance(listed, list) else []


def _is_entry(item: object) -> bool:
    """Whether an item of the list names a model."""
    return isinstance(item, dict) and isinstance(item.get("id"), str) and bool(item["id"])


async def _get(access: Access, url: str) -> dict[str, Any]:
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            answer = await access.client.get(url, access.connection, access.headers)
            return json_object(await answer.read())
    except TimeoutError:
        raise UpstreamError(504, f"no answer within {_ANSWER_SECONDS:g} s") from None


def _why(error: UpstreamError) -> str:
    if error.status in (401, 403):
        return f"the chat server refuses the key ({error.message})"
    return f"the chat server cannot be used: {error.message}"
