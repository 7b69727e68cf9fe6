"""Requests a second, waiting times and CPU, of four servers in turn, by size, concurrency, order of parts, accounts."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import report

from gateway_parts import litellm
from gateway_parts.cells import KINDS, MB, PLAIN, Cell, Kind, measured, middle, paired
from gateway_parts.servers import Load, Server, Servers, load, running

NAME = "throughput"
TIMES_PLAIN, TIMES_SPOOLED = 8.0, 5.0
"""Of LiteLLM's throughput, at 1 MB and 16 at once."""
ADDED_MS = 2.0
"""Median above the bare forwarder's."""

Column = tuple[str, Kind]
Cells = Mapping[Column, Sequence[Cell]]


@dataclass(frozen=True, slots=True)
class Scene:
    """What is posted how many at a time, for how long and how often."""

    size: int
    concurrency: int
    seconds: float
    rounds: int

    @property
    def name(self) -> str:
        """For a heading."""
        return f"{self.size // MB} MB, {self.concurrency} at once"


_WHOLE = (
    Scene(1 * MB, 1, 2.0, 3),
    Scene(1 * MB, 16, 2.0, 5),
    Scene(1 * MB, 64, 3.0, 2),
    Scene(25 * MB, 1, 2.0, 2),
    Scene(25 * MB, 16, 3.0, 1),
    Scene(25 * MB, 64, 3.0, 1),
)
_QUICK = (Scene(1 * MB, 1, 0.5, 1), Scene(1 * MB, 16, 1.0, 1), Scene(25 * MB, 1, 1.0, 1))


def measure(scratch: Path, quick: bool) -> str:
    """Every scene at every server, in turn within each round; comparisons are made within a round."""
    tables: list[str] = []
    goals: list[str] = []
    with running(scratch) as servers, load() as client:
        _warm_up(servers, client)
        for scene in _QUICK if quick else _WHOLE:
            cells = _play(scene, servers, client)
            tables.append(_table(scene, cells))
            if scene.size == MB and scene.concurrency == 16:
                goals += _times(cells)
            if scene.size == MB and scene.concurrency in (1, 16):
                goals.append(_added(scene, cells))
    return (
        "### Throughput\n\n"
        f"Loopback, an upstream that answers at once, one process for each server. LiteLLM is {litellm.VERSION}, one worker.\n"
        "The forwarder is Starlette and aiohttp, handing the body on unread. Medians over the rounds of each table;\n"
        "differences and ratios are taken within a round. Milliseconds, except requests a second.\n\n"
        + "\n".join(tables)
        + "\n"
        + "".join(goals)
    )


def _warm_up(servers: Servers, client: Load) -> None:
    for server, kind in _runs(servers):
        measured(client, server, kind, MB, 8, 1.0)


def _runs(servers: Servers) -> Sequence[tuple[Server, Kind]]:
    """What runs in one round: the order of parts and the accounts make no difference to the first two."""
    gateways = [(server, kind) for kind in KINDS for server in (servers.openproxy, servers.litellm)]
    return [(servers.upstream, PLAIN), (servers.forwarder, PLAIN), *gateways]


def _play(scene: Scene, servers: Servers, client: Load) -> Cells:
    cells: dict[Column, list[Cell]] = {}
    for number in range(scene.rounds):
        print(f"  {scene.name}, round {number + 1} of {scene.rounds}", file=sys.stderr, flush=True)
        for server, kind in _runs(servers):
            cell = measured(client, server, kind, scene.size, scene.concurrency, scene.seconds)
            cells.setdefault((server.name, kind), []).append(cell)
    return cells


def _table(scene: Scene, cells: Cells) -> str:
    columns = [
        f"{scene.name} ({scene.rounds} x {scene.seconds:.0f} s)",
        "requests/s",
        "x LiteLLM",
        "p50",
        "p99",
        "p50 over forwarder",
        "p99 over forwarder",
        "p50 over upstream",
        "CPU a request",
    ]
    return report.table(columns, [_row(column, cells) for column in cells])


def _row(column: Column, cells: Cells) -> list[str]:
    name, kind = column
    here = cells[column]
    forwarder, upstream = cells["forwarder", PLAIN], cells["upstream", PLAIN]
    gateway = name in ("openproxy", "litellm")
    failed = sum(cell.failed for cell in here)
    return [
        (f"{name}, {kind.name}" if gateway else name) + (f" ({failed} failed)" if failed else ""),
        f"{middle(here, lambda cell: cell.rate):.0f}",
        f"{_ratio(here, cells['litellm', kind]):.1f}" if name == "openproxy" else "",
        f"{middle(here, lambda cell: cell.p50):.1f}",
        f"{middle(here, lambda cell: cell.p99):.1f}",
        f"{paired(here, forwarder, lambda cell, other: cell.p50 - other.p50):+.1f}" if gateway else "",
        f"{paired(here, forwarder, lambda cell, other: cell.p99 - other.p99):+.1f}" if gateway else "",
        f"{paired(here, upstream, lambda cell, other: cell.p50 - other.p50):+.1f}" if name != "upstream" else "",
        f"{middle(here, lambda cell: cell.cpu):.2f}",
    ]


def _times(cells: Cells) -> list[str]:
    lines = []
    for kind in KINDS:
        wanted = TIMES_PLAIN if kind == PLAIN else TIMES_SPOOLED
        ours, theirs = cells["openproxy", kind], cells["litellm", kind]
        found = _ratio(ours, theirs)
        cpu = paired(ours, theirs, lambda cell, other: other.cpu / cell.cpu)
        told = f"{found:.1f} times; LiteLLM takes {cpu:.1f} times the CPU"
        lines.append(
            report.goal(f"1 MB, 16 at once, {kind.name}: at least {wanted:.0f} x LiteLLM", told, met=found >= wanted)
        )
    return lines


def _ratio(ours: Sequence[Cell], theirs: Sequence[Cell]) -> float:
    return paired(ours, theirs, lambda cell, other: cell.rate / other.rate)


def _added(scene: Scene, cells: Cells) -> str:
    added = paired(cells["openproxy", PLAIN], cells["forwarder", PLAIN], lambda cell, other: cell.p50 - other.p50)
    wanted = f"{scene.name}, {PLAIN.name}: p50 at most {ADDED_MS:.0f} ms over the forwarder's"
    return report.goal(wanted, f"{added:+.1f} ms", met=added <= ADDED_MS)
