"""Clients that send piece by piece, and upstreams that note when they are left: both sides of an upload on its way."""

import asyncio
import socket
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from fakes.raw import raw
from support import background
from support.gateway_server import AUDIO, BEARER, ROUTE, file, form, text

SOON = 10.0
"""Seconds for what happens at once, on a machine with much else to do."""


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

    async def refuse(self, reader, writer):
        """Read the whole body, and answer 401."""
        await self.read_all(reader, writer, b'{"error":"no"}', status="401 Unauthorized")

    async def read_all(self, reader, writer, answer=b'{"text":"hello"}', status="200 OK"):
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
        writer.write(head("application/json", len(answer), status) + answer)
        await writer.drain()
        self.over.set()


def head(content_type: str, length: int | None, status: str = "200 OK") -> bytes:
    framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{framing}\r\n\r\n".encode()


@contextmanager
def serving(script):
    with background.entered(raw(script)) as url:
        yield url


def opening(model="selfhosted-stt/x", *fields, data=AUDIO) -> bytes:
    """A form up to somewhere in its file."""
    body, _ = form(text("model", model), *fields, file(data), boundary="b", end=b"")
    return body.removesuffix(b"\r\n")


def no_tasks_of_requests(gateway) -> bool:
    """Whether nothing runs on the gateway's loop that belongs to a request, or soon nothing does."""
    end = time.monotonic() + SOON
    while time.monotonic() < end:
        left = [one for one in gateway.tasks() if any(name in one for name in ("run_asgi", "_watch", "write_bytes"))]
        if not left:
            return True
        time.sleep(0.02)
    raise AssertionError(left)
