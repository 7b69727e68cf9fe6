"""Gateways as processes of their own: ended by a signal, two on one database, flat in memory."""

import asyncio
import signal
import threading
import time
from contextlib import ExitStack

import aiohttp
import httpx
import psutil
import pytest
from aiohttp import web

from fakes.loopback import serve
from support import background, gateway_server, postgres
from support.gateway_server import AUDIO, BEARER, KEY, ROUTE, error

ASKED = {"data": {"model": "selfhosted-stt/x"}, "files": {"file": ("a.wav", AUDIO)}, "headers": BEARER, "timeout": 30}


def slow_upstream(seconds: float, begun: threading.Event) -> web.Application:
    """Sets `begun` when it has read a request, and answers so many seconds later."""

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        begun.set()
        await asyncio.sleep(seconds)
        return web.json_response({"text": "late"})

    app = web.Application(client_max_size=1 << 30)
    app.router.add_post("/{anything:.*}", answer)
    return app


@pytest.mark.parametrize(("upstream_seconds", "answered"), [(1.0, True), (60.0, False)])
def test_sigterm_lets_running_requests_finish_within_ten_seconds(tmp_path, upstream_seconds, answered):
    asked = threading.Event()
    with background.entered(serve(slow_upstream(upstream_seconds, asked))) as url:
        gateway_server.provision(tmp_path, ("selfhosted-stt", url, "test-secret-1"))
        with gateway_server.process(tmp_path) as gateway:
            heard: list[httpx.Response] = []

            def ask() -> None:
                try:
                    heard.append(httpx.post(gateway.url + ROUTE, **ASKED))
                except httpx.TransportError:
                    heard.clear()

            asking = threading.Thread(target=ask)
            asking.start()
            assert asked.wait(20)
            begun = time.monotonic()
            assert gateway.stop() in (0, -signal.SIGTERM)
            assert time.monotonic() - begun < 12
            asking.join(20)
            (answer,) = heard
            if answered:
                assert answer.json() == {"text": "late"}
            else:
                assert error(answer) == (503, "The server is stopping")
                assert answer.headers["retry-after"] == "1"
            with pytest.raises(httpx.ConnectError):
                httpx.get(gateway.url + "/health")


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.all)])
def test_two_gateways_on_one_database(tmp_path, upstream, monkeypatch, database):
    with ExitStack() as stack:
        url = f"sqlite:///{tmp_path}/shared.sqlite"
        if database == "postgresql":
            url = stack.enter_context(postgres.server()).empty_database()
        monkeypatch.setenv("OPENPROXY_DATABASE_URL", url)
        monkeypatch.setenv("OPENPROXY_ENCRYPTION_KEY", "a passphrase of both gateways")
        recorder = upstream((429, {"error": "slow down"}))
        gateway_server.provision(tmp_path, ("selfhosted-stt", recorder.url, "test-secret-1"))
        one, other = (stack.enter_context(gateway_server.process(tmp_path / name)) for name in ("first", "second"))
        added = httpx.post(f"{one.url}/api/keys", json={"name": "new", "key": "op-new-key-0123456789"}, headers=BEARER)
        assert added.status_code == 201
        found = httpx.get(f"{other.url}/v1/models", headers={"x-api-key": "op-new-key-0123456789"})
        assert found.status_code == 200
        assert httpx.post(one.url + ROUTE, **ASKED).json()["error"]["message"] == "slow down"
        told = httpx.post(other.url + ROUTE, **ASKED).json()["error"]["message"]
        assert told.startswith("All connections for provider: selfhosted-stt are rate limited")
        assert len(recorder.seen) == 1


@pytest.mark.all
def test_memory_stays_flat_under_large_uploads(tmp_path):
    """32 uploads of 25 MB at once stay under 200 MB, and a thousand small requests add next to nothing."""

    async def swallow(request: web.Request) -> web.Response:
        async for _ in request.content.iter_any():
            pass
        return web.json_response({"text": "ok"})

    app = web.Application()
    app.router.add_post("/{anything:.*}", swallow)

    async def post(url: str, size: int, times: int, at_once: int) -> None:
        body, content_type = gateway_server.form(
            gateway_server.text("model", "selfhosted-stt/x"), gateway_server.file(bytes(size))
        )
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": content_type}
        gate = asyncio.Semaphore(at_once)
        async with aiohttp.ClientSession() as session:

            async def one() -> None:
                async with gate, session.post(url + ROUTE, data=body, headers=headers) as answer:
                    assert answer.status == 200

            await asyncio.gather(*(one() for _ in range(times)))

    with background.entered(serve(app)) as url:
        gateway_server.provision(tmp_path, ("selfhosted-stt", url, "test-secret-1"))
        with gateway_server.process(tmp_path) as gateway:
            process = psutil.Process(gateway.process.pid)
            peak = 0
            done = threading.Event()

            def watch() -> None:
                nonlocal peak
                while not done.wait(0.02):
                    peak = max(peak, process.memory_info().rss)

            watching = threading.Thread(target=watch)
            watching.start()
            background.run(post(gateway.url, 25_000_000, 32, 32))
            done.set()
            watching.join()
            assert peak < 200_000_000
            background.run(post(gateway.url, 50_000, 300, 16))
            before = process.memory_info().rss
            background.run(post(gateway.url, 50_000, 1000, 16))
            assert process.memory_info().rss - before < 10_000_000
