"""What goes wrong at each provider, as the gateway tells it (H24; B6, B17)."""

import email.utils
import logging
import time
from pathlib import Path

import pytest

from fakes.raw import answering, raw, reset
from openproxy.providers.http import Limits
from support import background, gateway_server
from support.gateway_server import error
from support.vendors import MODELS, SECRET

DATA = Path(__file__).parents[1] / "data"


class TestFaults:
    """Every fault with its right answer, and no secret in it."""

    def ask(self, gateway, url, provider="selfhosted-stt") -> tuple[int, str]:
        gateway.connect(provider, url, SECRET)
        answer = gateway.post(MODELS[provider])
        assert SECRET not in answer.text
        return error(answer)

    @pytest.mark.parametrize("provider", MODELS)
    def test_h24_b17_nobody_there(self, gateway, provider, caplog):
        with caplog.at_level(logging.DEBUG):
            status, message = self.ask(gateway, f"http://127.0.0.1:9/?key={SECRET}", provider)
        assert status == 502
        assert "connection refused" in message
        assert message.startswith("Request failed: ") or provider == "assemblyai"
        assert SECRET not in caplog.text
        assert "127.0.0.1:9" not in message

    @pytest.mark.parametrize("provider", MODELS)
    def test_b17_an_upstream_that_repeats_the_key(self, gateway, upstream, provider, caplog):
        told = (DATA / "upstreams" / "B17_gemini_error.json").read_bytes()
        recorder = upstream((400, told + b" " + SECRET.encode()))
        with caplog.at_level(logging.DEBUG):
            status, _ = self.ask(gateway, recorder.url, provider)
        assert status == 400
        assert SECRET not in caplog.text

    def test_an_html_page_becomes_its_title(self, gateway, upstream):
        page = b"<!doctype html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
        assert self.ask(gateway, upstream((502, page), content_type="text/html").url) == (502, "502 Bad Gateway")

    @pytest.mark.parametrize(
        ("status", "told"), [(418, 418), (520, 520), (599, 599), (600, 502), (999, 502), (304, 502)]
    )
    def test_a_status_that_http_does_not_know(self, gateway, upstream, status, told):
        assert self.ask(gateway, upstream((status, b"")).url)[0] == told

    def test_t9_an_empty_error(self, gateway, upstream):
        assert self.ask(gateway, upstream((404, b"")).url) == (404, "Upstream error (404 Not Found)")

    @pytest.mark.parametrize("moved", ["http://127.0.0.2:1/x", "https://example.org/v1"])
    def test_a_redirect_to_another_host_is_not_followed(self, gateway, upstream, moved):
        recorder = upstream((307, b""), headers={"Location": moved})
        status, message = self.ask(gateway, recorder.url)
        assert (status, "another host" in message) == (502, True)

    def test_reset_before_the_head(self, gateway):
        async def script(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            reset(writer)

        with background.entered(raw(script)) as url:
            assert self.ask(gateway, url)[0] == 502

    @pytest.mark.parametrize("provider", MODELS)
    def test_reset_after_the_head(self, gateway, provider):
        async def script(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n")
            await writer.drain()
            reset(writer)

        with background.entered(raw(script)) as url:
            assert self.ask(gateway, url, provider)[0] == 502

    def test_a_429_with_a_date(self, gateway, upstream):
        when = email.utils.formatdate(time.time() + 90, usegmt=True)
        recorder = upstream((429, {"error": "slow down"}), headers={"Retry-After": when})
        gateway.connect("selfhosted-stt", recorder.url, SECRET)
        refused, resting = (gateway.post(MODELS["selfhosted-stt"]) for _ in range(2))
        assert error(refused) == (429, "slow down")
        status, message = error(resting)
        assert (status, len(recorder.seen)) == (429, 1)
        assert message.startswith("All connections for provider: selfhosted-stt are rate limited; retry after ")
        assert 80 <= int(refused.headers["retry-after"]) <= 90
        assert 80 <= int(resting.headers["retry-after"]) <= 90

    @pytest.mark.parametrize("kind", ["text/html", "application/octet-stream", "nonsense"])
    def test_a_wrong_content_type_is_no_fault(self, gateway, upstream, kind):
        answered = upstream({"text": "hello"}, content_type=kind)
        for provider in ("huggingface", "selfhosted-stt"):
            gateway.connect(provider, answered.url, SECRET)
            assert gateway.post(MODELS[provider]).json() == {"text": "hello"}

    def test_cut_short_is_never_half_a_transcript(self, gateway):
        short = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"text":"half'
        with background.entered(answering(short)) as url:
            status, message = self.ask(gateway, url)
        assert status == 502
        assert message.startswith("Request failed: ")

    def test_an_endless_body(self, gateway):
        async def script(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
            while True:
                writer.write(bytes(1 << 20))
                await writer.drain()

        with background.entered(raw(script)) as url:
            assert self.ask(gateway, url) == (502, "Request failed: the answer is larger than 33554432 bytes")

    @pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
    def test_an_upstream_that_stalls(self, tmp_path, head):
        async def script(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head)
            await reader.read()

        limits = Limits(connect=10, idle=0.3)
        with gateway_server.running(tmp_path, upstream=limits) as gateway, background.entered(raw(script)) as url:
            assert self.ask(gateway, url) == (502, "Request failed: no byte for 0.3 s")

    @pytest.mark.parametrize("base", ["ftp://x/v1", "not a url", "http://", "file:///etc/passwd"])
    def test_b6_an_address_that_is_none_never_means_the_cloud(self, gateway, base):
        status, message = self.ask(gateway, base, "deepgram")
        assert status == 502
        assert message.startswith("Request failed: ")
