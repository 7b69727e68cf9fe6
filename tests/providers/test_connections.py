"""One request after the other: identical bytes, connections kept, nothing of one account in the next."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import psutil
import pytest
from aiohttp import web

from fakes.loopback import serve
from fakes.recorder import recorder
from openproxy import providers
from openproxy.errors import UpstreamError
from openproxy.providers.http import Client, Limits
from support.providers import account, asked, spooled, transcribe


@pytest.mark.parametrize("provider", ["openai", "groq", "selfhosted-stt", "deepgram", "huggingface", "gemini"])
@pytest.mark.parametrize("status", [401, 429, 500])
@pytest.mark.parametrize("size", [700, 3_000_000])
async def test_both_attempts_carry_identical_bytes_b15(provider: str, status: int, size: int):
    audio = spooled(bytes(number % 253 for number in range(1000)) * (size // 1000 + 1))
    request = asked("m", ("prompt", "p"), audio=audio)
    async with recorder((status, {"error": "again"}), {"text": "second"}) as upstream:
        with pytest.raises(UpstreamError):
            await transcribe(request, account(provider, upstream.url))
        await transcribe(request, account(provider, upstream.url))
    first, second = upstream.seen
    assert len(first.body) > size
    assert first.body == second.body
    assert first.headers["content-length"] == second.headers["content-length"] == str(len(first.body))


@asynccontextmanager
async def setting_cookies() -> AsyncIterator[tuple[str, list[tuple[object, Mapping[str, str]]]]]:
    """The URL of an upstream that sets cookies, and of each request its connection and its headers."""
    seen: list[tuple[object, Mapping[str, str]]] = []

    async def handle(request: web.Request) -> web.Response:
        assert request.transport is not None
        seen.append((request.transport.get_extra_info("peername"), request.headers))
        await request.read()
        return web.json_response({"text": "x"}, headers={"Set-Cookie": "account=1; Path=/"})

    app = web.Application()
    app.router.add_post("/{anything:.*}", handle)
    async with serve(app) as url:
        yield url, seen


@pytest.mark.parametrize("provider_id", ["openai", "groq"])
async def test_connections_are_kept_and_nothing_of_one_account_reaches_another(provider_id: str):
    provider = providers.get(provider_id)
    assert provider is not None
    async with setting_cookies() as (url, seen), Client() as client:
        for _ in range(3):
            await provider.transcribe(asked("m"), account(provider_id, url), client)
    assert len(seen) == 3
    assert len({peer for peer, _ in seen}) == 1
    assert all("Cookie" not in headers for _, headers in seen)


async def test_ipv6():
    async with recorder(host="::1") as upstream:
        await transcribe(asked("m"), account("selfhosted-stt", f"{upstream.url}/v1"))
    assert upstream.seen[0].path == "/v1/audio/transcriptions"


async def holds(port: int, number: int) -> bool:
    """Whether this process comes to hold so many connections to a port, within five seconds."""
    for _ in range(250):
        held = [one for one in psutil.Process().net_connections("tcp4") if one.raddr and one.raddr.port == port]
        if len(held) == number:
            return True
        await asyncio.sleep(0.02)
    return False


@pytest.mark.parametrize("given_up", ["by the caller", "for its idleness"])
async def test_a_call_that_is_given_up_is_let_go_of_at_once(given_up: str):
    """Also where the upstream reads nothing, so that what was written to it stays where it is."""
    provider = providers.get("openai")
    assert provider is not None
    request = asked("m", audio=spooled(bytes(20_000_000)))
    limits = Limits(idle=60.0 if given_up == "by the caller" else 0.5)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        async with Client(limits) as client:
            call = asyncio.create_task(
                provider.transcribe(request, account("openai", f"http://127.0.0.1:{port}"), client)
            )
            assert await holds(port, 1)
            await asyncio.sleep(0.2)
            if given_up == "by the caller":
                call.cancel()
            with pytest.raises((asyncio.CancelledError, UpstreamError)):
                await call
            assert await holds(port, 0)
