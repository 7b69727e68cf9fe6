"""Applications under a real uvicorn that speaks through BoundedProtocol."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp

from openproxy.web.protocol import BoundedProtocol


@asynccontextmanager
async def serving(application: ASGIApp) -> AsyncIterator[int]:
    """The port on loopback at which the application is served."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(application, http=BoundedProtocol, lifespan="off", ws="none", log_config=None)
    server = uvicorn.Server(config)
    running = asyncio.create_task(server._serve([listener]))
    yield listener.getsockname()[1]
    server.should_exit = True
    await running
