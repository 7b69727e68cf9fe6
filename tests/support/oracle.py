"""Recorded requests to llama-server: read, rebuilt byte for byte, and sent over a socket."""

import base64
import json
import re
import socket
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data" / "oracle"


@dataclass(frozen=True)
class Record:
    """One request and its recorded answer."""

    id: str
    server: str
    method: str
    target: str
    headers: list[tuple[str, str]]
    spec: dict[str, Any] | None
    chunked: bool
    answer: "Answer"

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def body(self) -> bytes:
        """The body before it is cut into chunks."""
        match self.spec:
            case None:
                return b""
            case {"kind": "raw"} as raw:
                return base64.b64decode(raw["base64"]) if "base64" in raw else raw["text"].encode()
            case spec:
                return form_bytes(spec)

    def wire(self) -> bytes:
        """The whole request as it goes over the socket."""
        head = f"{self.method} {self.target} HTTP/1.1\r\n" + "".join(
            f"{key}: {value}\r\n" for key, value in self.headers
        )
        body = self.body()
        return head.encode("latin-1") + b"\r\n" + (in_chunks(body) if self.chunked else body)


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int | None
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: str = ""

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    @property
    def json(self) -> Any:
        """The body's JSON, None where it is none; objects keep the order of their keys."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    @property
    def frames(self) -> list[Any]:
        """The `data:` of each event: objects, and the string `[DONE]`."""
        texts = [frame.removeprefix("data: ") for frame in self.body.split("\n\n") if frame]
        return [text if text == "[DONE]" else json.loads(text) for text in texts]


@cache
def records() -> dict[str, Record]:
    """All records by id, in the order in which they were taken."""
    found = {}
    for line in (DATA / "corpus.jsonl").read_text("utf-8").splitlines():
        item = json.loads(line)
        request, response = item["request"], item["response"]
        found[item["id"]] = Record(
            item["id"],
            item["server"],
            request["method"],
            request["target"],
            [(key, value) for key, value in request["headers"]],
            request["body"],
            request["chunked"],
            Answer(response["status"], [(key, value) for key, value in response["headers"]], response["body"]),
        )
    return found


@cache
def fixture(name: str) -> bytes:
    with zipfile.ZipFile(DATA / "fixtures.zip") as archive:
        return archive.read(name)


def form_bytes(spec: dict[str, Any]) -> bytes:
    """A multipart body from its parts, with the line ends, preamble and epilogue that the record names."""
    newline = spec.get("nl", "\r\n").encode()
    boundary = b"--" + spec["boundary"].encode()
    lines = b"".join(
        boundary + newline + part_headers(part, newline) + newline + part_content(part) + newline
        for part in spec["parts"]
    )
    end = boundary + b"--" + newline if spec.get("closing", True) else b""
    return spec.get("preamble", "").encode("latin-1") + lines + end + spec.get("epilogue", "").encode("latin-1")


def part_headers(part: dict[str, Any], newline: bytes) -> bytes:
    if "raw_headers" in part:
        return part["raw_headers"].encode("latin-1")
    disposition = f'form-data; name="{part["name"]}"'
    if part.get("filename") is not None:
        disposition += f'; filename="{part["filename"]}"'
    lines = b"Content-Disposition: " + disposition.encode() + newline
    if part.get("content_type"):
        lines += b"Content-Type: " + part["content_type"].encode() + newline
    return lines


def part_content(part: dict[str, Any]) -> bytes:
    if "fixture" in part:
        return fixture(part["fixture"])
    if "base64" in part:
        return base64.b64decode(part["base64"])
    if "fill" in part:
        return bytes(part["fill"])
    return part["text"].encode()


def in_chunks(body: bytes, size: int = 5000) -> bytes:
    pieces = (body[at : at + size] for at in range(0, len(body), size))
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def exchange(port: int, wire: bytes, *, seconds: float = 60.0) -> Answer:
    """Send the bytes, read until the answer is complete or the other side closes. Interim answers (100) are skipped."""
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.settimeout(seconds)
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(wire)
        data = b""
        while True:
            try:
                piece = connection.recv(65536)
            except ConnectionResetError:
                piece = b""
            data += piece
            answer = parse(data)
            if not piece or (answer is not None and answer[1]):
                return answer[0] if answer is not None else Answer(None)


def parse(data: bytes) -> tuple[Answer, bool] | None:
    """The answer so far and whether it is complete by its own framing; None before its headers are there."""
    head, separator, rest = data.partition(b"\r\n\r\n")
    if not separator:
        return None
    lines = head.decode("latin-1").split("\r\n")
    status = int(re.fullmatch(r"HTTP/1\.1 (\d{3}) ?.*", lines[0]).group(1))
    if status == 100:
        return parse(rest)
    headers = [(key.strip(), value.strip()) for key, value in (line.split(":", 1) for line in lines[1:])]
    named = {key.lower(): value for key, value in headers}
    if named.get("transfer-encoding") == "chunked":
        body, complete = unchunked(rest)
    else:
        length = int(named.get("content-length", "-1"))
        body, complete = rest, 0 <= length <= len(rest)
    return Answer(status, headers, body.decode("utf-8")), complete


def unchunked(data: bytes) -> tuple[bytes, bool]:
    body = b""
    while b"\r\n" in data:
        size, _, data = data.partition(b"\r\n")
        count = int(size.split(b";")[0], 16)
        if count == 0:
            return body, True
        if len(data) < count + 2:
            break
        body += data[:count]
        data = data[count + 2 :]
    return body, False
