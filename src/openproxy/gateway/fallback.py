"""The walk over a provider's accounts until one answers (contracts/gateway.md, section 5, decisions 6 to 8)."""

import asyncio
import logging
import math
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from openproxy import providers
from openproxy.errors import BadRequest, OpenProxyError, Stalled, Unavailable, UpstreamError
from openproxy.gateway.asked import Superseded
from openproxy.gateway.call import Call
from openproxy.gateway.services import Services
from openproxy.providers.catalog import Entry
from openproxy.providers.replies import Reply
from openproxy.store import Store
from openproxy.store.connections import StoredConnection
from openproxy.store.cooldown import Candidates
from openproxy.upload import Connection, TranscriptionRequest
from openproxy.web.responses import header_value

_NEXT = frozenset({401, 402, 403, 408, 429})

_log = logging.getLogger(__name__)


class Source(Protocol):
    """Where each attempt gets its request: the recording must begin at its first byte every time."""

    async def request(self) -> TranscriptionRequest:
        """The request for the next attempt. Raises what reading the client's body raises."""


def goes_on(status: int) -> bool:
    """Whether the next account is tried after this status."""
    return status in _NEXT or 500 <= status <= 599


def ready(candidates: Candidates, provider: str, now: datetime | None = None) -> Sequence[StoredConnection]:
    """The accounts to try, in order. Raises BadRequest where there is none, and 429 where all are cooling down."""
    if candidates.ready:
        return candidates.ready
    wait = candidates.retry_after(now or datetime.now(UTC))
    if wait is None:
        raise BadRequest(f"No credentials for provider: {provider}", param="model", code="no_credentials")
    seconds = max(1, math.ceil(wait))
    raise UpstreamError(
        429,
        f"All connections for provider: {provider} are rate limited; retry after {seconds} s",
        retry_after=seconds,
    )


async def walk(
    services: Services, entry: Entry, accounts: Sequence[StoredConnection], source: Source, call: Call
) -> Reply:
    """The first answer of one of the accounts, at least one.

    Raises the error of an attempt after which no other is tried, else that of the last one; and what reading the
    client's body raises. `call` tells how far it came.
    """
    error: OpenProxyError | None = None
    for stored in accounts:
        request = await source.request()
        try:
            return await _attempt(services, entry, stored, request, source, call)
        except Stalled:
            # a 408 of the client's, not of the account's
            raise
        except OpenProxyError as failed:
            if not goes_on(failed.status):
                raise
            error = failed
    raise error or Unavailable("All accounts unavailable")


async def _attempt(
    services: Services,
    entry: Entry,
    stored: StoredConnection,
    request: TranscriptionRequest,
    source: Source,
    call: Call,
) -> Reply:
    """One account, called once; its outcome is logged and counted, and a 429 puts it on a cool-down."""
    call.attempts += 1
    begun = time.monotonic()
    status = 499
    try:
        connection = await opened(services.store, stored)
        provider = providers.get(entry.id)
        if provider is None:
            raise BadRequest(f"Provider '{entry.id}' does not support STT", param="model")
        try:
            reply = await provider.transcribe(request, connection, services.client)
        except Superseded:
            reply = await provider.transcribe(await source.request(), connection, services.client)
        status, call.connection_id = 200, stored.id
    except OpenProxyError as error:
        status = error.status
        if status == 429 and isinstance(error, UpstreamError):
            await _cool_down(services, stored, error.retry_after)
        raise
    else:
        await _recover(services, stored)
        return reply
    finally:
        seconds = time.monotonic() - begun
        services.metrics.attempted(entry.id, request.model, status)
        _log.info(
            "%s attempt %d: %s model %s on connection %s (%s): %d in %.3f s",
            call.request_id,
            call.attempts,
            entry.id,
            header_value(request.model),
            stored.id,
            stored.name,
            status,
            seconds,
        )


async def opened(store: Store, stored: StoredConnection) -> Connection:
    """The account with its secret, as a provider takes it. Raises SecretUnreadable, or 401 where what was decrypted is blank."""
    secrets = store.connections.known(stored) or await store.connections.open(stored)
    if not secrets.credential:
        raise UpstreamError(401, f"No credentials for STT provider: {stored.provider}")
    base_url, scheme = secrets.data.get("baseUrl"), secrets.data.get("authScheme")
    return Connection(
        stored.id,
        stored.provider,
        secrets.credential,
        base_url if isinstance(base_url, str) else None,
        scheme if isinstance(scheme, str) else None,
        secrets.data,
    )


async def _cool_down(services: Services, stored: StoredConnection, retry_after: int | None) -> None:
    try:
        # the note is made even where the client goes away meanwhile
        await asyncio.shield(services.store.cooldowns.mark(stored.id, retry_after))
    except OpenProxyError as error:
        _log.warning("the cool-down of connection %s is not stored: %s", stored.id, error.message)


async def _recover(services: Services, stored: StoredConnection) -> None:
    if stored.rate_limited_until is None and stored.backoff_level == 0:
        return
    try:
        await services.store.cooldowns.recover(stored)
    except OpenProxyError as error:
        _log.warning("the cool-down of connection %s is not ended: %s", stored.id, error.message)
