"""Clients that go away: in their upload, while the provider works, in the answer."""

import asyncio
import time

import httpx
import pytest

from support.gateway_server import AUDIO, BEARER, ROUTE, file, form, text
from support.uploads import SOON, Client, Watched, head, no_tasks_of_requests, opening, serving

MEGABYTE = 1024 * 1024


class TestClientGone:
    """The provider is let go at once, and nothing is left behind."""

    def test_in_mid_upload(self, gateway, watched):
        gateway.connect("selfhosted-stt", watched.url, name="second", priority=1000)
        client = Client(gateway)
        client.send(opening(data=bytes(2 * MEGABYTE)))
        assert watched.first.wait(SOON)
        client.close()
        assert watched.over.wait(SOON)
        assert not watched.complete
        assert gateway.kept() == []
        assert no_tasks_of_requests(gateway)

    def test_in_mid_upload_before_the_model_is_known(self, gateway):
        client = Client(gateway)
        body, _ = form(file(bytes(2 * MEGABYTE)), boundary="b", end=b"")
        client.send(body)
        time.sleep(0.2)
        client.close()
        assert gateway.kept() == []
        assert no_tasks_of_requests(gateway)

    @pytest.mark.parametrize("file_first", [False, True])
    def test_in_mid_upstream(self, gateway, file_first):
        this = Watched()

        async def silent(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            this.first.set()
            while await reader.read(65536):
                pass
            this.over.set()

        with serving(silent) as url:
            gateway.connect("selfhosted-stt", url)
            gateway.connect("selfhosted-stt", url, name="second")
            client = Client(gateway)
            whole, _ = form(text("model", "selfhosted-stt/x"), file(bytes(2 * MEGABYTE)), boundary="b")
            if file_first:
                whole, _ = form(file(bytes(2 * MEGABYTE)), text("model", "selfhosted-stt/x"), boundary="b")
            client.send(whole)
            client.end()
            assert this.first.wait(SOON)
            time.sleep(0.3)
            client.close()
            assert this.over.wait(SOON)
        assert gateway.kept() == []
        assert no_tasks_of_requests(gateway)

    def test_in_mid_answer(self, gateway):
        this = Watched()

        async def endless(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head("text/event-stream", None))
            this.first.set()
            try:
                while True:
                    writer.write(b"a\r\ndata: {}\n\n\r\n")
                    await writer.drain()
                    await asyncio.sleep(0.02)
            finally:
                this.over.set()

        with serving(endless) as url:
            gateway.connect("selfhosted-stt", url)
            with httpx.stream(
                "POST",
                gateway.url + ROUTE,
                headers=BEARER,
                data={"model": "selfhosted-stt/x", "stream": "true"},
                files={"file": ("a.wav", AUDIO)},
            ) as answer:
                assert answer.headers["content-type"] == "text/event-stream"
                next(answer.iter_raw())
            assert this.over.wait(SOON)
        assert no_tasks_of_requests(gateway)
