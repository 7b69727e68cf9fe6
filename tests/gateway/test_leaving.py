"""Clients that stop in the middle of their upload, and clients that leave while nobody reads it."""

import asyncio
import json
import os
import random
import socket
import struct
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from fakes.raw import raw, request
from support import background
from support.gateway_server import AUDIO, BEARER, KEY, ROUTE, error, file, form, text
from support.uploads import SOON

MEGABYTE = 1024 * 1024
MODEL = text("model", "selfhosted-stt/x")


def client(gateway, content_type="multipart/form-data; boundary=b", path=ROUTE, length=100 * MEGABYTE) -> socket.socket:
    """A connection on which a request with a large body has begun."""
    this = socket.create_connection(("127.0.0.1", int(gateway.url.rpartition(":")[2])), timeout=10)
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Type: {content_type}\r\n"
    this.sendall(f"{head}Content-Length: {length}\r\n\r\n".encode())
    return this


def heard(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the last answer; the server closes after it."""
    answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    return int(lines[0].split()[1]), dict(line.split(": ", 1) for line in lines[1:]), body


def opening(*parts, size=0) -> bytes:
    """A form up to somewhere in its last part."""
    return form(*parts, boundary="b", end=b"")[0].removesuffix(b"\r\n") + bytes(size)


class TestStalled:
    """A client that sends nothing for `uploadIdleSeconds` is answered 408, and let go."""

    MESSAGE = "Request timeout: no byte of the body for 1 s"

    @pytest.fixture(autouse=True)
    def impatient(self, gateway):
        gateway.settings(upload_idle_seconds=1)

    @pytest.mark.parametrize("accounts", [1, 2])
    @pytest.mark.parametrize(
        ("content_type", "sent"),
        [
            ("multipart/form-data; boundary=b", b""),
            ("multipart/form-data; boundary=b", opening(MODEL)),
            ("multipart/form-data; boundary=b", opening(MODEL, file(AUDIO))),
            ("multipart/form-data; boundary=b", opening(file(AUDIO), size=2 * MEGABYTE)),
            ("multipart/form-data; boundary=b", opening(MODEL, file(AUDIO), size=2 * MEGABYTE)),
            ("application/json", b'{"model":"selfhosted-stt/x","file_b64":"' + b"UklG" * MEGABYTE),
        ],
        ids=["nothing", "fields", "a little", "file first", "sent on", "base64"],
    )
    def test_in_every_shape(self, gateway, upstream, content_type, sent, accounts):
        recorder = upstream()
        for number in range(accounts):
            gateway.connect("selfhosted-stt", recorder.url, name=f"account {number}")
        connection = client(gateway, content_type)
        connection.sendall(sent)
        begun = time.monotonic()
        status, headers, body = heard(connection)
        assert time.monotonic() - begun < SOON
        assert (status, headers["connection"]) == (408, "close")
        assert json.loads(body)["error"] == {
            "message": self.MESSAGE,
            "type": "timeout_error",
            "param": None,
            "code": "upload_stalled",
        }
        assert headers["x-openproxy-attempts"] in ("0", "1")
        assert gateway.kept() == []
        assert recorder.seen == []

    def test_a_slow_client_is_waited_for(self, gateway, upstream):
        recorder = upstream()
        gateway.connect("selfhosted-stt", recorder.url)
        body, _ = form(MODEL, file(b"0123456789"), boundary="b")
        connection = client(gateway, length=len(body))
        for at in range(0, len(body), 40):
            time.sleep(0.4)
            connection.sendall(body[at : at + 40])
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert b"0123456789" in recorder.seen[0].body

    def test_a_slow_provider_is_another_matter(self, gateway):
        async def slow(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(1.5)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
            await writer.drain()

        with background.entered(raw(slow)) as url:
            gateway.connect("selfhosted-stt", url)
            assert gateway.post("selfhosted-stt/x").json() == {}

    def test_below_api(self, gateway):
        connection = client(gateway, "application/json", "/api/keys", 1000)
        connection.sendall(b'{"name": ')
        status, headers, body = heard(connection)
        assert (status, headers["connection"], json.loads(body)) == (408, "close", {"error": self.MESSAGE})

    def test_the_setting_is_shown(self, gateway):
        told = httpx.patch(f"{gateway.url}/api/settings", json={"uploadIdleSeconds": 7}, headers=BEARER)
        assert told.json()["uploadIdleSeconds"] == 7


@contextmanager
def deaf(gateway, provider="selfhosted-stt"):
    """An account whose upstream takes the head of a request and never reads its body."""

    async def script(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(60)

    with background.entered(raw(script)) as url:
        gateway.connect(provider, url)
        yield url


def connections_to(url: str) -> int:
    """How many connections of this process go to that address."""
    port = f":{int(url.rpartition(':')[2]):04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inodes = {row[9] for row in rows if row[2].endswith(port) and row[3] == "01"}
    found = 0
    for entry in os.scandir("/proc/self/fd"):
        try:
            target = Path(entry.path).readlink()
        except OSError:
            continue
        found += any(str(target) == f"socket:[{inode}]" for inode in inodes)
    return found


def comes_to(url: str, number: int) -> bool:
    """Whether this process soon holds so many connections to a URL."""
    end = time.monotonic() + SOON
    while connections_to(url) != number:
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class TestDeafUpstream:
    """An upstream that does not read: the client's going is noticed all the same, and the call is given up at once."""

    @pytest.mark.parametrize("reset", [False, True])
    @pytest.mark.parametrize("accounts", [1, 2])
    @pytest.mark.parametrize("size", [100_000, 3 * MEGABYTE, 40 * MEGABYTE])
    def test_in_mid_upload(self, gateway, upstream, size, accounts, reset):
        with deaf(gateway) as url:
            if accounts == 2:
                gateway.connect("selfhosted-stt", upstream().url, name="second")
            connection = client(gateway)
            connection.sendall(opening(MODEL, file(AUDIO), size=size))
            assert comes_to(url, 1)
            time.sleep(0.7)
            if reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
            assert comes_to(url, 0)
        assert gateway.kept() == []

    @pytest.mark.parametrize("provider", ["selfhosted-stt", "gemini"])
    def test_after_the_upload(self, gateway, provider):
        with deaf(gateway, provider) as url:
            whole, _ = form(file(bytes(12 * MEGABYTE)), text("model", f"{provider}/x"), boundary="b")
            connection = client(gateway, length=len(whole))
            connection.sendall(whole)
            assert comes_to(url, 1)
            time.sleep(0.7)
            connection.close()
            assert comes_to(url, 0)
        assert gateway.kept() == []

    def test_with_another_request_behind(self, gateway):
        with deaf(gateway) as url:
            whole, _ = form(MODEL, file(AUDIO), boundary="b")
            connection = client(gateway, length=len(whole))
            connection.sendall(whole + b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert comes_to(url, 1)
            time.sleep(0.5)
            connection.close()
            assert comes_to(url, 0)


class TestHeldUp:
    """An upstream that reads after a while: the upload was read meanwhile, and reaches it as it was."""

    SIZE = 24 * MEGABYTE

    @pytest.fixture
    def late(self, gateway):
        """An account whose upstream waits for `go`, then reads to the end of the body."""
        go = threading.Event()
        seen: list[bytes] = []

        async def script(reader, writer):
            await asyncio.to_thread(go.wait, 20)
            _, body = await request(reader)
            seen.append(body)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
            await writer.drain()

        with background.entered(raw(script)) as url:
            gateway.connect("selfhosted-stt", url, name="late", priority=1)
            yield go, seen

    @pytest.mark.parametrize("accounts", [1, 2])
    def test_the_same_bytes_arrive(self, gateway, upstream, late, accounts):
        go, seen = late
        if accounts == 2:
            gateway.connect("selfhosted-stt", upstream().url, name="second", priority=2)
        audio = random.Random(accounts).randbytes(self.SIZE)
        whole, _ = form(MODEL, file(audio), text("temperature", "0.5"), boundary="b")
        connection = client(gateway, length=len(whole))
        connection.sendall(whole)  # returns although the upstream has read nothing
        go.set()
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        connection.close()
        assert audio + b"\r\n--" in seen[0]
        assert seen[0].endswith(b'name="temperature"\r\n\r\n0.5\r\n' + seen[0].partition(b"\r\n")[0] + b"--\r\n")
        assert gateway.kept() == []

    def test_what_is_wrong_with_it_is_told_then(self, gateway, late):
        go, seen = late
        gateway.settings(max_upload_bytes=self.SIZE)
        connection = client(gateway, "multipart/form-data; boundary=b", length=self.SIZE)
        connection.sendall(opening(MODEL, file(AUDIO)))
        connection.sendall(bytes(self.SIZE - len(opening(MODEL, file(AUDIO)))))
        time.sleep(1)
        go.set()
        head, _, body = connection.recv(65536).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert json.loads(body)["error"]["message"].startswith("Failed reading file field: ")
        connection.close()
        assert seen == []

    def test_a_second_file_takes_the_place_of_the_first(self, gateway, late):
        go, seen = late
        whole, _ = form(MODEL, file(bytes(self.SIZE)), file(b"the second", "b.mp3"), boundary="b")
        connection = client(gateway, length=len(whole))
        connection.sendall(whole)
        time.sleep(1)
        go.set()
        answer = connection.recv(65536)
        connection.close()
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"x-openproxy-attempts: 1\r\n" in answer
        assert [b"the second" in body for body in seen] == [True]


def test_a_client_that_offers_http2_is_served(gateway, upstream):
    """As Java's own client does with each first request."""
    recorder = upstream()
    gateway.connect("selfhosted-stt", recorder.url)
    body, content_type = form(MODEL, file())
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQCAAAAAAIAAAAA"}
    answer = httpx.post(gateway.url + ROUTE, content=body, headers=BEARER | {"Content-Type": content_type} | offer)
    assert answer.json() == {"text": "hello"}
    assert AUDIO in recorder.seen[0].body


def test_a_body_that_came_to_its_end_is_no_stall(gateway):
    gateway.settings(upload_idle_seconds=1)
    assert error(gateway.post("selfhosted-stt/x"))[0] == 400
