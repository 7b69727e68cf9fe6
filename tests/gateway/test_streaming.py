"""Uploads that are sent on while they arrive (DESIGN.md, "How a request flows")."""

import base64
import json
import time

import httpx
import pytest

from support.gateway_server import AUDIO, BEARER, ROUTE, error, file, form, text
from support.uploads import SOON, Client, Watched, head, no_tasks_of_requests, opening, serving

MEGABYTE = 1024 * 1024


class TestLive:
    def test_bytes_reach_the_provider_before_the_upload_is_over(self, gateway, watched):
        client = Client(gateway)
        client.send(opening())
        assert watched.first.wait(SOON)
        assert not watched.over.is_set()
        client.send(b"more" * 10 + b"\r\n--b--\r\n")
        client.end()
        status, headers, body = client.answer()
        assert (status, body) == (200, b'{"text":"hello"}')
        assert headers["x-openproxy-attempts"] == "1"
        assert AUDIO + b"more" * 10 + b"\r\n--" in watched.bodies[0]

    def test_no_connection_before_the_first_byte(self, gateway, watched):
        client = Client(gateway)
        client.send(opening(data=b""))
        assert not watched.first.wait(0.3)
        client.send(b"\r\n--b--\r\n")
        client.end()
        status, _, body = client.answer()
        assert (status, json.loads(body)["error"]["message"]) == (400, "Audio file is empty")
        assert not watched.received

    def test_fields_after_the_file_go_behind_it_on_the_openai_wire(self, gateway, watched):
        body, content_type = form(
            text("model", "selfhosted-stt/x"),
            text("temperature", "0"),
            file(AUDIO * 200),
            text("language", "Spanish"),
            text("timestamp_granularities", "word"),
            text("nope", "1"),
            text("model", "selfhosted-stt/x"),
        )
        answer = httpx.post(gateway.url + ROUTE, content=body, headers={**BEARER, "Content-Type": content_type})
        assert answer.headers["x-openproxy-ignored"] == "nope"
        names = [line for line in watched.bodies[0].split(b"\r\n") if b"form-data" in line]
        assert [name.partition(b'name="')[2].partition(b'"')[0] for name in names] == [
            b"file",
            b"model",
            b"temperature",
            b"language",
            b"timestamp_granularities[]",
        ]
        assert b'name="language"\r\n\r\nes\r\n' in watched.bodies[0]

    def test_fields_after_the_file_are_told_where_they_came_too_late(self, gateway, upstream):
        recorder = upstream({"results": {}})
        gateway.connect("deepgram", recorder.url)
        body, content_type = form(text("model", "dg/nova-3"), file(AUDIO * 200), text("language", "es"), boundary="x")
        answer = httpx.post(gateway.url + ROUTE, content=body, headers={**BEARER, "Content-Type": content_type})
        assert answer.json() == {"text": ""}
        assert answer.headers["x-openproxy-ignored"] == "language"
        assert "detect_language=true" in recorder.seen[0].query
        assert recorder.seen[0].body == AUDIO * 200

    def test_another_model_after_the_file(self, gateway, watched):
        body, content_type = form(
            text("model", "selfhosted-stt/x"), file(AUDIO * 200), text("model", "selfhosted-stt/y")
        )
        answer = httpx.post(gateway.url + ROUTE, content=body, headers={**BEARER, "Content-Type": content_type})
        message = "The form has two different values of model, one of them after the file"
        assert error(answer) == (400, message)
        assert watched.over.wait(SOON)
        assert not watched.complete

    def test_a_second_file_takes_the_place_of_the_first(self, gateway, upstream):
        recorder = upstream()
        gateway.connect("selfhosted-stt", recorder.url)
        body, content_type = form(
            text("model", "selfhosted-stt/x"), file(b"1" * MEGABYTE), file(b"2" * 300_000, "b.mp3")
        )
        answer = httpx.post(gateway.url + ROUTE, content=body, headers={**BEARER, "Content-Type": content_type})
        assert answer.json() == {"text": "hello"}
        assert answer.headers["x-openproxy-attempts"] == "1"
        sent = recorder.seen[-1].body
        assert b'filename="b.mp3"' in sent
        assert b"2" * 300_000 in sent
        assert b"1" * 100 not in sent
        assert gateway.kept() == []

    @pytest.mark.parametrize("file_first", [False, True])
    @pytest.mark.parametrize("provider", ["gemini", "selfhosted-stt"])
    def test_a_second_file_takes_the_place_of_one_that_is_not_sent_on(self, gateway, upstream, provider, file_first):
        recorder = upstream({"candidates": [], "text": ""})
        gateway.connect(provider, recorder.url)
        gateway.settings(formats="rendered")
        model, files = text("model", f"{provider}/x"), [file(bytes(3 * MEGABYTE)), file(b"2" * 900, "b.mp3")]
        body, content_type = form(*([files[0], model, files[1]] if file_first else [model, *files]))
        answer = httpx.post(gateway.url + ROUTE, content=body, headers={**BEARER, "Content-Type": content_type})
        assert answer.json() == {"text": ""}
        (sent,) = recorder.seen
        second = b"2" * 900
        assert (base64.b64encode(second) if provider == "gemini" else second) in sent.body
        assert len(sent.body) < 3000
        assert gateway.kept() == []

    @pytest.mark.parametrize("provider", ["selfhosted-stt", "deepgram"])
    def test_fields_after_the_file_in_a_second_attempt(self, gateway, upstream, provider):
        """B15: they keep their place in a form; where they came too late for the first attempt, the second has them."""
        first, second = Watched(), upstream({"text": "", "results": {}})
        with serving(first.refuse) as url:
            gateway.connect(provider, url, name="one", priority=1)
            gateway.connect(provider, second.url, name="two", priority=2)
            client = Client(gateway)
            client.send(opening(f"{provider}/x", text("prompt", "p")))
            assert first.first.wait(SOON)
            rest = form(text("language", "Spanish"), text("nope", "1"), text("keywords", "a"), boundary="b")[0]
            client.send(b"\r\n" + rest)
            client.end()
            status, headers, _ = client.answer()
        assert (status, headers["x-openproxy-attempts"]) == (200, "2")
        (sent,) = second.seen
        assert first.bodies == [sent.body]
        if provider == "deepgram":
            assert headers["x-openproxy-ignored"] == "prompt,nope"
            assert "language=es" in sent.query
        else:
            assert headers["x-openproxy-ignored"] == "nope"
            assert b'name="language"\r\n\r\nes\r\n' in sent.body

    def test_one_account_needs_no_spool_two_do(self, gateway, upstream, watched):
        def kept_meanwhile(seconds: float) -> int:
            """The spools on disk, after so many seconds if there are none before."""
            client = Client(gateway)
            client.send(opening(data=bytes(3 * MEGABYTE)))
            assert watched.first.wait(SOON)
            end = time.monotonic() + seconds
            while not (kept := len(list(gateway.spool.iterdir()))) and time.monotonic() < end:
                time.sleep(0.02)
            client.send(b"\r\n--b--\r\n")
            client.end()
            assert client.answer()[0] == 200
            return kept

        assert kept_meanwhile(0.5) == 0
        gateway.connect("selfhosted-stt", watched.url, name="second", priority=1000)
        assert kept_meanwhile(10) == 1
        assert gateway.kept() == []

    @pytest.mark.parametrize("provider", ["deepgram", "huggingface"])
    def test_raw_bodies_are_sent_on_as_well(self, gateway, watched, provider):
        gateway.connect(provider, watched.url)
        client = Client(gateway)
        client.send(opening({"deepgram": "dg/nova-3", "huggingface": "hf/a/b"}[provider]))
        assert watched.first.wait(SOON)
        client.send(b"\r\n--b--\r\n")
        client.end()
        assert client.answer()[0] == 200
        assert watched.bodies == [AUDIO]

    def test_gemini_gets_the_whole_with_its_length(self, gateway, upstream):
        recorder = upstream({"candidates": []})
        gateway.connect("gemini", recorder.url)
        assert gateway.post("gemini/gemini-2.5-flash", bytes(3 * MEGABYTE)).json() == {"text": ""}
        assert int(recorder.seen[0].headers["content-length"]) == len(recorder.seen[0].body) > 4 * MEGABYTE
        assert gateway.kept() == []


class TestBroken:
    """A form that turns out to be wrong while it is sent on must not reach the provider as a whole one."""

    def test_no_closing_boundary(self, gateway, watched):
        client = Client(gateway)
        client.send(opening())
        assert watched.first.wait(SOON)
        client.end()
        status, _, body = client.answer()
        assert status == 400
        assert json.loads(body)["error"]["message"].startswith("Failed reading file field: ")
        assert watched.over.wait(SOON)
        assert not watched.complete

    def test_raw_body_too(self, gateway, watched):
        gateway.connect("deepgram", watched.url)
        client = Client(gateway)
        client.send(opening("dg/nova-3"))
        assert watched.first.wait(SOON)
        client.end()
        assert client.answer()[0] == 400
        assert watched.over.wait(SOON)
        assert not watched.complete

    def test_beyond_the_limit(self, gateway, watched):
        gateway.settings(max_upload_bytes=MEGABYTE)
        client = Client(gateway)
        client.send(opening())
        assert watched.first.wait(SOON)
        client.send(bytes(MEGABYTE))
        status, _, body = client.answer()
        assert (status, json.loads(body)["error"]["message"]) == (413, f"Body too large: the limit is {MEGABYTE} bytes")
        assert watched.over.wait(SOON)
        assert not watched.complete

    def test_with_a_second_account_nobody_else_is_asked(self, gateway, watched, upstream):
        other = upstream()
        gateway.connect("selfhosted-stt", other.url, name="second", priority=1000)
        client = Client(gateway)
        client.send(opening())
        assert watched.first.wait(SOON)
        client.send(b"\r\n--bogus")
        client.end()
        assert client.answer()[0] == 400
        assert other.seen == []
        assert gateway.kept() == []


class TestEarlyAnswer:
    """A provider that answers before it has read the upload."""

    @staticmethod
    async def refuse(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        await reader.read(1000)
        writer.write(head("application/json", 15, "503 Unavailable") + b'{"error":"full"}'[:15])
        await writer.drain()
        while await reader.read(65536):
            pass

    def test_the_rest_goes_to_the_next_account(self, gateway, upstream):
        recorder = upstream()
        with serving(self.refuse) as url:
            gateway.connect("selfhosted-stt", url, name="full", priority=1)
            gateway.connect("selfhosted-stt", recorder.url, name="free", priority=2)
            client = Client(gateway)
            client.send(opening())
            time.sleep(0.2)
            for number in range(20):
                client.send(bytes([number]) * 50_000)
            client.send(b"\r\n--b--\r\n")
            client.end()
            status, headers, _ = client.answer()
        assert (status, headers["x-openproxy-attempts"]) == (200, "2")
        whole = AUDIO + b"".join(bytes([number]) * 50_000 for number in range(20))
        assert whole + b"\r\n--" in recorder.seen[0].body
        assert gateway.kept() == []

    def test_the_only_account_is_told_at_once(self, gateway):
        with serving(self.refuse) as url:
            gateway.connect("selfhosted-stt", url)
            client = Client(gateway)
            client.send(opening())
            assert client.answer()[0] == 503
            client.close()
        assert no_tasks_of_requests(gateway)
