"""A gateway that is killed while many clients write: what it has acknowledged is there when it comes back."""

import asyncio
import contextlib
import itertools
import signal
import sqlite3

import aiohttp
import httpx
import pytest

from support import gateway_server
from support.gateway_server import BEARER

WRITES = 200


async def _write(url: str, enough: int, kill) -> list[dict[str, str]]:
    """Send WRITES requests at once and kill the gateway after `enough` answers; gives what was acknowledged."""
    acknowledged: list[dict[str, str]] = []
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(url, headers=BEARER, connector=connector) as session:

        async def key(number: int) -> None:
            async with session.post("/api/keys", json={"name": f"key {number}"}) as answer:
                made = await answer.json()
                assert answer.status == 201
                acknowledged.append({"id": made["id"], "key": made["key"]})

        async def account(number: int) -> None:
            document = {"name": f"account {number}", "provider": "groq", "mediaType": "stt", "apiKey": f"k-{number}"}
            async with session.post("/api/media-providers", json=document) as answer:
                made = await answer.json()
                assert answer.status == 201
                acknowledged.append({"id": made["id"]})

        async def write(number: int) -> None:
            with contextlib.suppress(aiohttp.ClientError, OSError):
                await (key, account)[number % 2](number)
                if len(acknowledged) == enough:
                    kill()

        await asyncio.gather(*(write(number) for number in range(WRITES)))
    return acknowledged


@pytest.mark.parametrize(
    "enough", [60, pytest.param(1, marks=pytest.mark.all), pytest.param(150, marks=pytest.mark.all)]
)
def test_killed_in_200_concurrent_writes_nothing_acknowledged_is_lost(tmp_path, enough):
    gateway_server.provision(tmp_path)
    with gateway_server.process(tmp_path) as gateway:
        written = asyncio.run(_write(gateway.url, enough, gateway.process.kill))
        assert gateway.process.wait(10) == -signal.SIGKILL
    assert enough <= len(written) < WRITES
    with contextlib.closing(sqlite3.connect(tmp_path / "openproxy.sqlite")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with gateway_server.process(tmp_path) as gateway, httpx.Client(base_url=gateway.url, timeout=30) as client:
        keys = client.get("/api/keys", headers=BEARER).json()["keys"]
        accounts = client.get("/api/media-providers/stt", headers=BEARER).json()["providers"]
        stored = {one["id"] for one in itertools.chain(keys, accounts)}
        assert {one["id"] for one in written} <= stored
        for secret in [one["key"] for one in written if "key" in one][-3:]:
            assert client.get("/v1/models", headers={"x-api-key": secret}).status_code == 200
        assert client.post("/api/keys", json={"name": "again"}, headers=BEARER).status_code == 201
