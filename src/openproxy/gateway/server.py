"""A running gateway: one process, one port; a signal lets running requests finish."""

import gc
import os
import socket
from collections.abc import Mapping
from pathlib import Path

import uvicorn

from openproxy import freed_memory, spool
from openproxy.gateway.admin.mounting import mounted
from openproxy.gateway.app import App, Mounted
from openproxy.gateway.services import Settings
from openproxy.store import Access
from openproxy.web import serving

HOST = "127.0.0.1"
PORT = 4623
DRAIN_SECONDS = 8
"""Within which running requests may finish after a signal; then they are cancelled."""
_TRUE = ("true", "1", "yes")


def settings_from_environment(data_dir: Path, environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings for a data directory, with what the environment says about database, key and proxies."""
    trust = environ.get("TRUST_PROXY", "").strip().lower() in _TRUE
    return Settings(Access.from_environment(data_dir, environ), trust_proxy=trust)


def config(
    settings: Settings, host: str = HOST, port: int = PORT, *, admin: Mounted | None = mounted
) -> uvicorn.Config:
    """How uvicorn serves the gateway; `admin` makes the application below /api."""
    return serving.config(App(settings, admin), host, port, lifespan="on", close_seconds=DRAIN_SECONDS)


def serve(
    settings: Settings,
    host: str = HOST,
    port: int = PORT,
    *,
    listener: socket.socket | None = None,
    admin: Mounted | None = mounted,
) -> bool:
    """Serve until SIGINT or SIGTERM, on `listener` where one is given; returns whether the gateway had started."""
    spool.sweep(settings.spool)
    freed_memory.hold_some()
    server = uvicorn.Server(config(settings, host, port, admin=admin))
    # what is loaded by now stays to the end of the process: the collector need not walk through it again and again
    gc.freeze()
    server.run(sockets=None if listener is None else [listener])
    return server.started
