"""The least that a gateway in Python can do: Starlette hands the body on through aiohttp as it comes, unread.

Arguments: the port to listen on, the URL to post to.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

PORT, UPSTREAM = int(sys.argv[1]), sys.argv[2]
PASSED_ON = ("content-type", "content-length")


@asynccontextmanager
async def session(app: Starlette) -> AsyncIterator[None]:
    """One pool of connections for the process."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
        app.state.client = client
        yield


async def forward(request: Request) -> Response:
    """Body and content type there, body and content type back."""
    headers = {name: request.headers[name] for name in PASSED_ON if name in request.headers}
    async with request.app.state.client.post(UPSTREAM, data=request.stream(), headers=headers) as answer:
        return Response(await answer.read(), answer.status, {"content-type": answer.headers["content-type"]})


app = Starlette(routes=[Route("/v1/audio/transcriptions", forward, methods=["POST"])], lifespan=session)
uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning", access_log=False)
