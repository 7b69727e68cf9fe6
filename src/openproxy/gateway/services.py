"""What the routes of a running gateway share: the store, the upstream client, the guard of its keys, its counters."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from openproxy import paths
from openproxy.gateway import cli_token
from openproxy.gateway.auth import Guard
from openproxy.gateway.call import Call
from openproxy.gateway.metrics import Metrics
from openproxy.providers.http import Client, Limits
from openproxy.store import Access, Store
from openproxy.store.usage import Usage


@dataclass(frozen=True, slots=True)
class Settings:
    """How a gateway process is started; everything else is in its store."""

    access: Access
    """Where the database and its key are."""
    trust_proxy: bool = False
    """Whether `x-forwarded-*` and `x-real-ip` are believed (`TRUST_PROXY`)."""
    upstream: Limits = field(default_factory=Limits)
    """Time limits of calls to providers."""
    spool: Path | None = None
    """Folder for large uploads; None for the system's own."""


@dataclass(frozen=True, slots=True)
class Services:
    """Made by `running`."""

    settings: Settings
    store: Store
    client: Client
    guard: Guard
    metrics: Metrics

    def note(self, call: Call, status: int, seconds: float) -> None:
        """Count a transcription that has ended, and write its row where a provider was called."""
        self.metrics.answered(call, status, seconds)
        if call.attempts == 0:
            return
        self.store.usage.record(
            Usage(
                request_id=call.request_id,
                provider=call.provider,
                model=call.model,
                status=status,
                attempts=call.attempts,
                bytes=call.audio_bytes,
                latency=seconds,
                audio_seconds=call.audio_seconds,
                connection_id=call.connection_id,
                key_id=call.caller.key_id,
            )
        )


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Services]:
    """Everything open, for as long as the block lasts. Raises StoreUnusable, OSError."""
    paths.ensure_data_dir(settings.access.data_dir)
    async with await Store.open(settings.access) as store, Client(settings.upstream) as client:
        guard = Guard(cli_token.ensure(settings.access.data_dir))
        yield Services(settings, store, client, guard, Metrics())
