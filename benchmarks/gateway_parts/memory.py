"""Resident memory: idle, at its peak under many large uploads at once, and after thousands of requests."""

import time
from pathlib import Path

import report

from gateway_parts import litellm
from gateway_parts.cells import KINDS, MB, PLAIN, Kind, order
from gateway_parts.servers import Load, Server, load, running

NAME = "memory"
UPLOADS, UPLOAD_BYTES = 32, 25 * MB
PEAK_MB = 200.0
FEW, MANY = 500, 2_000
GROWTH_MB = 5.0
"""So much more after MANY further requests still counts as flat."""
_SETTLE = 2.0


def measure(scratch: Path, quick: bool) -> str:
    """All servers one after the other, each fresh."""
    with running(scratch) as servers, load() as client:
        time.sleep(_SETTLE)
        idle = {server.name: server.memory for server in (servers.forwarder, servers.openproxy, servers.litellm)}
        grown = [_grown(client, servers.openproxy, kind, 200 if quick else MANY) for kind in (PLAIN, KINDS[2])]
        runs = [(servers.forwarder, PLAIN), *((servers.openproxy, kind) for kind in KINDS), (servers.litellm, PLAIN)]
        peaks = [(server, kind, *_peak(client, server, kind)) for server, kind in runs]
    rows = [
        [
            server.name if server.name == "forwarder" else f"{server.name}, {kind.name}",
            f"{server.start_up:.1f}",
            f"{idle[server.name]:.0f}",
            f"{peak:.0f}",
            f"{answered} of {UPLOADS}",
        ]
        for server, kind, peak, answered in peaks
    ]
    ours = [(kind, peak, answered) for server, kind, peak, answered in peaks if server.name == "openproxy"]
    return (
        "### Memory\n\n"
        f"Resident MB (10^6 bytes) of the server's process: idle after its start, and the peak while {UPLOADS} uploads of\n"
        f"{UPLOAD_BYTES // MB} MB come at once. LiteLLM is {litellm.VERSION}.\n\n"
        + report.table(["", "start, s", "idle", "peak", "answered"], rows)
        + "\n"
        + "".join(
            report.goal(
                f"peak under {PEAK_MB:.0f} MB with {UPLOADS} uploads of {UPLOAD_BYTES // MB} MB, {kind.name}",
                f"{peak:.0f} MB",
                met=peak < PEAK_MB and answered == UPLOADS,
            )
            for kind, peak, answered in ours
        )
        + "".join(grown)
    )


def _peak(client: Load, server: Server, kind: Kind) -> tuple[float, int]:
    """The peak, and how many of the uploads were answered well."""
    server.forget_peak()
    outcome = client.run(order(server, kind, UPLOAD_BYTES, UPLOADS, requests=UPLOADS))
    return server.peak, len(outcome.latencies)


def _grown(client: Load, server: Server, kind: Kind, many: int) -> str:
    """Memory after some requests, and after many more of them."""
    sizes = []
    for requests in (FEW, many):
        outcome = client.run(order(server, kind, MB, 16, requests=requests))
        if outcome.failures:
            raise RuntimeError(f"{server.name} failed {len(outcome.failures)} times: {outcome.failures[0]}")
        time.sleep(_SETTLE)
        sizes.append(server.memory)
    growth = sizes[1] - sizes[0]
    return report.goal(
        f"flat over {many} requests of 1 MB, {kind.name} (within {GROWTH_MB:.0f} MB)",
        f"{sizes[0]:.1f} MB, then {sizes[1]:.1f} MB",
        met=growth <= GROWTH_MB,
    )
