"""Clients that go away, or stop taking their answer, while nothing is read from them."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from openproxy.web import peer
from openproxy.web.protocol import LEFT
from support.bounded import serving

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n"


class Application:
    """Reads one piece of a body and no more; on GET, answers without end. Notes when it is told that the client has gone."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.left = asyncio.Event()
        self.port = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[LEFT].add(self.left.set)
        if scope["method"] == "POST":
            await receive()
            self.begun.set()
            await self.left.wait()
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while not self.left.is_set():
            await send({"type": "http.response.body", "body": bytes(65536), "more_body": True})
            self.begun.set()


@pytest.fixture
async def application() -> AsyncIterator[Application]:
    this = Application()
    async with serving(this) as this.port:
        yield this


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=5)


def finish(client: socket.socket) -> None:
    client.close()


def reset(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


@pytest.mark.parametrize("go", [finish, reset])
@pytest.mark.parametrize("sent", [HEAD, HEAD + b"x" * 200_000, HEAD + b"x" * 1_000_000])
async def test_a_client_that_goes_while_its_body_is_not_read(application: Application, go: Any, sent: bytes) -> None:
    client = connected(application.port)
    await asyncio.to_thread(client.sendall, sent)
    if sent is HEAD:
        client.sendall(b"x")
    await application.begun.wait()
    await asyncio.sleep(0.1)
    assert not application.left.is_set()
    go(client)
    await asyncio.wait_for(application.left.wait(), 5)


async def test_a_client_that_goes_with_another_request_behind(application: Application) -> None:
    client = connected(application.port)
    client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab" + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await application.begun.wait()
    client.close()
    await asyncio.wait_for(application.left.wait(), 5)


@pytest.mark.parametrize("before", [0, 1, 2])
@pytest.mark.parametrize("behind", [0, 1, 2])
async def test_the_request_at_work_hears_of_it_wherever_it_stands(before: int, behind: int) -> None:
    """Of requests sent one after the other without waiting for an answer, one is at work and the others wait."""
    begun, heard = asyncio.Event(), asyncio.Event()

    async def waits_for_the_end(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        if scope["method"] == "GET":
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        begun.set()
        assert (await receive())["type"] == "http.disconnect"
        heard.set()

    get, post = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"
    async with serving(waits_for_the_end) as port:
        client = connected(port)
        client.sendall(get * before + post + get * behind)
        await asyncio.wait_for(begun.wait(), 5)
        client.close()
        await asyncio.wait_for(heard.wait(), 5)


async def test_a_client_that_stays_is_left_alone(application: Application) -> None:
    client = connected(application.port)
    await asyncio.to_thread(client.sendall, HEAD + b"x" * 1_000_000)
    await asyncio.sleep(3 * peer.LOOK_SECONDS)
    assert not application.left.is_set()
    client.close()
    await asyncio.wait_for(application.left.wait(), 5)


async def test_a_client_that_takes_nothing_of_its_answer(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "STALLED_SECONDS", 0.3)
    client = connected(application.port)
    client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await asyncio.wait_for(application.left.wait(), 5)
    client.close()
