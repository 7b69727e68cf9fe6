"""The data directory's database, opened for the time of one command; running servers see at once what it writes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from openproxy.cli.global_options import GlobalOptions
from openproxy.store import Access, Store

Result = TypeVar("Result")


def access(options: GlobalOptions) -> Access:
    """Where the database is, and what its secrets are sealed with."""
    return Access.from_environment(options.folder())


def run(options: GlobalOptions, work: Callable[[Store], Awaitable[Result]], *, verify_key: bool = False) -> Result:
    """What `work` gives for the open store. Raises StoreUnusable, and what `work` raises."""

    async def opened() -> Result:
        async with await Store.open(access(options), verify_key=verify_key) as store:
            return await work(store)

    options.log_to_stderr()
    return asyncio.run(opened())
