"""How uvicorn serves both servers: over BoundedProtocol, without log lines and headers of its own."""

import logging
from typing import Literal

import uvicorn
from starlette.types import ASGIApp

from openproxy.web.protocol import BoundedProtocol


def config(
    app: ASGIApp, host: str = "127.0.0.1", port: int = 0, *, lifespan: Literal["on", "off"], close_seconds: int
) -> uvicorn.Config:
    """`host` and `port` count where no socket is handed to the server.

    `close_seconds` after a signal the connections are closed, and the requests on them cancelled.
    """
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=BoundedProtocol,
        lifespan=lifespan,
        ws="none",
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=close_seconds,
    )
