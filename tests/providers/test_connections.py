"""One request after the other: identical bytes, connections kept, nothing of one account in the next."""

import pytest
from aiohttp import web

from fakes.loopback import serve
from fakes.recorder import recorder
from openproxy import providers
from openproxy.errors import UpstreamError
from openproxy.providers.http import Client
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


async def test_connections_are_kept_and_used_again():
    peers: set[object] = set()

    async def handle(request: web.Request) -> web.Response:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))
        await request.read()
        return web.json_response({"text": "x"}, headers={"Set-Cookie": "account=1; Path=/"})

    app = web.Application()
    app.router.add_post("/{anything:.*}", handle)
    provider = providers.get("openai")
    assert provider is not None
    async with serve(app) as url, Client() as client:
        for _ in range(3):
            await provider.transcribe(asked("m"), account("openai", url), client)
    assert len(peers) == 1


async def test_nothing_of_one_account_reaches_another():
    seen: list[dict[str, str]] = []

    async def handle(request: web.Request) -> web.Response:
        seen.append(dict(request.headers))
        await request.read()
        return web.json_response({"text": "x"}, headers={"Set-Cookie": "account=1; Path=/"})

    app = web.Application()
    app.router.add_post("/{anything:.*}", handle)
    provider = providers.get("groq")
    assert provider is not None
    async with serve(app) as url, Client() as client:
        for _ in range(2):
            await provider.transcribe(asked("m"), account("groq", url), client)
    assert all("Cookie" not in headers for headers in seen)


async def test_ipv6():
    async with recorder(host="::1") as upstream:
        await transcribe(asked("m"), account("selfhosted-stt", f"{upstream.url}/v1"))
    assert upstream.seen[0].path == "/v1/audio/transcriptions"
