"""Asynchronous fakes for synchronous tests: an event loop in a thread of its own."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import cache
from typing import Any


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


def run(work: Any) -> Any:
    """The result of a coroutine, run on the background loop."""
    return asyncio.run_coroutine_threadsafe(work, _loop()).result(60)


@contextmanager
def entered(manager: AbstractAsyncContextManager[Any]) -> Iterator[Any]:
    """What an asynchronous context manager yields, entered and left on the background loop."""
    value = run(manager.__aenter__())
    try:
        yield value
    finally:
        run(manager.__aexit__(None, None, None))
