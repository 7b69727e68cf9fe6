"""Uploads that are sent on while they arrive, and clients that go away (DESIGN.md, "How a request flows")."""

import asyncio
import json
import socket
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import pytest

from fakes.raw import raw, reset
from support import background
from support.gateway_server import AUDIO, BEARER, ROUTE, error, file, form, text

MEGABYTE = 1024 * 1024


class Client:
    """A client that sends and hears exactly what a test says, over one connection."""

    def __init__(self, gateway, body_length=None, content_type="multipart/form-data; boundary=b", path=ROUTE):
        split = urlsplit(gateway.url)
        self.socket = socket.create_connection((split.hostname, split.port), timeout=10)
        length = f"Content-Length: {body_length}" if body_length is not None else "Transfer-Encoding: chunked"
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {BEARER['Authorization']}\r\n"
        self.socket.sendall(f"{head}Content-Type: {content_type}\r\n{length}\r\n\r\n".encode())

    def send(self, data: bytes) -> None:
        self.socket.sendall(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self) -> None:
        self.socket.sendall(b"0\r\n\r\n")

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer with a length."""
        heard = b""
        while b"\r\n\r\n" not in heard:
            heard += self.socket.recv(65536) or pytest.fail("the connection was closed without an answer")
        head, _, body = heard.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:])
        while len(body) < int(headers["content-length"]):
            body += self.socket.recv(65536)
        return int(lines[0].split()[1]), headers, body

    def close(self) -> None:
        self.socket.close()


class Watched:
    """An upstream that notes what reaches it, and when its client goes away."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.bodies: list[bytes] = []
        self.first = threading.Event()
        self.over = threading.Event()
        """The gateway has closed the connection, or sent the end of a body."""
        self.complete = False
        self.go = threading.Event()
        """Lets it answer, where it waits for that."""
        self.url = ""

    async def read_all(self, reader, writer, answer=b'{"text":"hello"}', *, wait=False):
        await reader.readuntil(b"\r\n\r\n")
        try:
            while size := int(await reader.readline(), 16):
                self.received += await reader.readexactly(size)
                await reader.readexactly(2)
                self.first.set()
            await reader.readexactly(2)
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            self.over.set()
            return
        self.complete = True
        self.bodies.append(bytes(self.received))
        if wait:
            self.first.set()
            await reader.read()
            self.over.set()
            return
        writer.write(head("application/json", len(answer)) + answer)
        await writer.drain()
        self.over.set()


def head(content_type: str, length: int | None, status: str = "200 OK") -> bytes:
    framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{framing}\r\n\r\n".encode()


@contextmanager
def serving(script):
    with background.entered(raw(script)) as url:
        yield url


@pytest.fixture
def watched(gateway):
    """An upstream behind selfhosted-stt that reads whatever comes."""
    this = Watched()
    with serving(this.read_all) as this.url:
        gateway.connect("selfhosted-stt", this.url)
        yield this


def opening(model="selfhosted-stt/x", *fields, data=AUDIO) -> bytes:
    """A form up to somewhere in its file."""
    body, _ = form(text("model", model), *fields, file(data), boundary="b", end=b"")
    return body.removesuffix(b"\r\n")


def no_tasks_of_requests(gateway) -> bool:
    """Whether nothing runs on the gateway's loop that belongs to a request, within a second."""
    end = time.monotonic() + 1
    while time.monotonic() < end:
        left = [one for one in gateway.tasks() if any(name in one for name in ("run_asgi", "_watch", "write_bytes"))]
        if not left:
            return True
        time.sleep(0.02)
    raise AssertionError(left)


class TestLive:
    def test_bytes_reach_the_provider_before_the_upload_is_over(self, gateway, watched):
        client = Client(gateway)
        client.send(opening())
        assert watched.first.wait(2)
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
        assert watched.over.wait(1)
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

    def test_one_account_needs_no_spool_two_do(self, gateway, upstream, watched):
        def kept_meanwhile(seconds: float) -> int:
            """The spools on disk, after so many seconds if there are none before."""
            client = Client(gateway)
            client.send(opening(data=bytes(3 * MEGABYTE)))
            assert watched.first.wait(5)
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
        assert watched.first.wait(2)
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
        assert watched.first.wait(2)
        client.end()
        status, _, body = client.answer()
        assert status == 400
        assert json.loads(body)["error"]["message"].startswith("Failed reading file field: ")
        assert watched.over.wait(1)
        assert not watched.complete

    def test_raw_body_too(self, gateway, watched):
        gateway.connect("deepgram", watched.url)
        client = Client(gateway)
        client.send(opening("dg/nova-3"))
        assert watched.first.wait(2)
        client.end()
        assert client.answer()[0] == 400
        assert watched.over.wait(1)
        assert not watched.complete

    def test_beyond_the_limit(self, gateway, watched):
        gateway.settings(max_upload_bytes=MEGABYTE)
        client = Client(gateway)
        client.send(opening())
        assert watched.first.wait(2)
        client.send(bytes(MEGABYTE))
        status, _, body = client.answer()
        assert (status, json.loads(body)["error"]["message"]) == (413, f"Body too large: the limit is {MEGABYTE} bytes")
        assert watched.over.wait(1)
        assert not watched.complete

    def test_with_a_second_account_nobody_else_is_asked(self, gateway, watched, upstream):
        other = upstream()
        gateway.connect("selfhosted-stt", other.url, name="second", priority=1000)
        client = Client(gateway)
        client.send(opening())
        assert watched.first.wait(2)
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


class TestClientGone:
    """Within a second the provider is let go, and nothing is left behind."""

    def test_in_mid_upload(self, gateway, watched):
        gateway.connect("selfhosted-stt", watched.url, name="second", priority=1000)
        client = Client(gateway)
        client.send(opening(data=bytes(2 * MEGABYTE)))
        assert watched.first.wait(2)
        client.close()
        assert watched.over.wait(1)
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
            assert this.first.wait(5)
            time.sleep(0.3)
            client.close()
            assert this.over.wait(1)
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
            assert this.over.wait(1)
        assert no_tasks_of_requests(gateway)


class TestStreamedAnswer:
    def test_the_first_event_does_not_wait_for_the_second(self, gateway):
        this = Watched()

        async def slow(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head("text/event-stream; charset=utf-8", None) + b'b\r\ndata: {"a"\n\r\n')
            await writer.drain()
            await asyncio.to_thread(this.go.wait, 5)
            writer.write(b"6\r\n:1}\n\n\xff\r\n0\r\n\r\n")
            await writer.drain()

        with serving(slow) as url:
            gateway.connect("selfhosted-stt", url)
            with httpx.stream(
                "POST", gateway.url + ROUTE, headers=BEARER, data={"model": "selfhosted-stt/x"}, files={"file": AUDIO}
            ) as answer:
                pieces = answer.iter_raw()
                first = next(pieces)
                this.go.set()
                rest = b"".join(pieces)
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["x-openproxy-attempts"] == "1"
        assert (first, rest) == (b'data: {"a"\n', b":1}\n\n\xff")

    def test_b14_a_late_failure_is_the_last_event(self, gateway):
        async def breaks(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head("text/event-stream", None) + b'b\r\ndata: {"a":\r\n')
            await writer.drain()
            await asyncio.sleep(0.1)
            reset(writer)

        with serving(breaks) as url:
            gateway.connect("selfhosted-stt", url)
            answer = gateway.post("selfhosted-stt/x", stream="true")
        assert answer.status_code == 200
        before, _, last = answer.content.removesuffix(b"\n\n").rpartition(b"\n\n")
        assert before == b'data: {"a":'
        told = json.loads(last.removeprefix(b"data: "))["error"]
        assert told["message"].startswith("Request failed: ")
        assert told["code"] == "upstream_error"
        assert b"[DONE]" not in answer.content
