"""One measurement: a kind of request at one server, its rate, its waiting times and the CPU it took there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from programs.load import Order

from gateway_parts.servers import Load, Server

MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Kind:
    """What is posted, and to which model."""

    name: str
    file_first: bool
    two_accounts: bool


KINDS = (
    Kind("fields first, one account", file_first=False, two_accounts=False),
    Kind("file first, one account", file_first=True, two_accounts=False),
    Kind("fields first, two accounts", file_first=False, two_accounts=True),
    Kind("file first, two accounts", file_first=True, two_accounts=True),
)
PLAIN = KINDS[0]


@dataclass(frozen=True, slots=True)
class Cell:
    """What one window of time gave."""

    rate: float
    """Requests a second that were answered well."""
    p50: float
    """Milliseconds, as p99."""
    p99: float
    cpu: float
    """Milliseconds of the server's CPU for each request."""
    failed: int


def measured(load: Load, server: Server, kind: Kind, size: int, concurrency: int, seconds: float) -> Cell:
    """Load one server for so many seconds. Raises RuntimeError where not one request was answered well."""
    before = server.cpu
    outcome = load.run(order(server, kind, size, concurrency, seconds=seconds))
    taken = sorted(outcome.latencies)
    if not taken:
        raise RuntimeError(f"{server.name} answered nothing well: {outcome.failures[:3]}")
    return Cell(
        rate=len(taken) / outcome.elapsed,
        p50=median(taken) * 1000,
        p99=taken[min(len(taken) - 1, int(len(taken) * 0.99))] * 1000,
        cpu=(server.cpu - before) / (len(taken) + len(outcome.failures)) * 1000,
        failed=len(outcome.failures),
    )


def order(
    server: Server, kind: Kind, size: int, concurrency: int, *, seconds: float = 1e9, requests: int = 10**9
) -> Order:
    """The client's order for it."""
    client = server.client
    model = client.two if kind.two_accounts and client.two is not None else client.one
    return Order(server.url, client.key, model, size, kind.file_first, concurrency, seconds, requests)


def middle(cells: Sequence[Cell], figure: Callable[[Cell], float]) -> float:
    """The median of a figure over the rounds."""
    return median(map(figure, cells))


def paired(cells: Sequence[Cell], others: Sequence[Cell], compare: Callable[[Cell, Cell], float]) -> float:
    """The median, over the rounds, of a comparison within one round."""
    return median(compare(cell, other) for cell, other in zip(cells, others, strict=True))
