"""Calls that run to their end although whoever awaits them is cancelled.

A client that goes away cancels its request. A statement that is dropped half-way would leave its connection in the
middle of a transaction, in SQLite with the write lock of the whole database.
"""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class _HasDatabase(Protocol):
    _database: Any


Self = TypeVar("Self", bound=_HasDatabase)
Repository = TypeVar("Repository", bound=type)


def unbroken(
    method: Callable[Concatenate[Self, Parameters], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[Self, Parameters], Awaitable[Result]]:
    """Make the method run in a task of its own, which `Database.close` waits for."""

    @functools.wraps(method)
    async def run(self: Self, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        task = asyncio.create_task(method(self, *args, **kwargs))
        running: set[asyncio.Task[Any]] = self._database.running
        running.add(task)
        task.add_done_callback(running.discard)
        return await asyncio.shield(task)

    return run


def repository(kind: Repository) -> Repository:
    """Class decorator: every public coroutine method is `unbroken`. Instances have their Database as `_database`."""
    for name, member in list(vars(kind).items()):
        if inspect.iscoroutinefunction(member) and not name.startswith("_"):
            setattr(kind, name, unbroken(member))
    return kind
