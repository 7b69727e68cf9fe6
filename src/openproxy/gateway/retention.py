"""What a gateway forgets by itself: the rows of usage that are older than the setting `usageDays`."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openproxy.errors import OpenProxyError
from openproxy.store import Store

EVERY_SECONDS = 3600.0
_DAY = 86_400.0

_log = logging.getLogger(__name__)


@asynccontextmanager
async def pruning(store: Store, every: float = EVERY_SECONDS) -> AsyncIterator[None]:
    """Forget at once and then every so many seconds, for as long as the block lasts."""
    task = asyncio.create_task(_prune_again_and_again(store, every))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _prune_again_and_again(store: Store, every: float) -> None:
    while True:
        try:
            days = (await store.snapshot()).settings.usage_days
            if days:
                await store.usage.prune(time.time() - days * _DAY)
        except OpenProxyError as error:
            _log.warning("usage is not pruned: %s", error.message)
        await asyncio.sleep(every)
