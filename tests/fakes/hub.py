"""A model hub on loopback: serves repositories from memory by the part of the Hugging Face hub's HTTP API that downloads use.

It is trusted because huggingface_hub itself downloads from it.
"""

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = 1000
"""Bytes from which a file is kept as LFS does, named by its SHA-256."""


@dataclass
class Hub:
    """What the server holds and what it was asked for."""

    repos: Mapping[str, Mapping[str, bytes]]
    gated: frozenset[str] = frozenset()
    corrupt: frozenset[str] = frozenset()
    """File names whose bytes arrive changed."""
    broken: bool = False
    """Whether every answer is a 500."""
    cut_at: int | None = None
    """Bytes after which the next large answer breaks off, once."""
    url: str = ""
    requests: list[str] = field(default_factory=list)


@contextmanager
def running(hub: Hub) -> Iterator[Hub]:
    """Serve `hub` on a free port of loopback."""
    handler = type("Handler", (_Handler,), {"hub": hub})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        hub.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield hub
        finally:
            server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        self.hub.requests.append(f"{self.command} {path}")
        if self.hub.broken:
            self._answer(500, b"{}")
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(/revision/[^/]+)?", path):
            self._describe(match[1])
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/[^/]+", path):
            self._list(match[1])
        elif match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path):
            self._file(match[1], match[2])
        else:
            self._answer(404, b"{}")

    def _known(self, repo: str) -> bool:
        if repo in self.hub.gated:
            self._answer(403, b'{"error":"gated"}', {"X-Error-Code": "GatedRepo"})
        elif repo not in self.hub.repos:
            self._answer(404, b'{"error":"Repository not found"}', {"X-Error-Code": "RepoNotFound"})
        return repo in self.hub.repos and repo not in self.hub.gated

    def _describe(self, repo: str) -> None:
        if self._known(repo):
            files = [{"rfilename": name} for name in self.hub.repos[repo]]
            self._json({"_id": "1", "id": repo, "sha": COMMIT, "siblings": files, "private": False})

    def _list(self, repo: str) -> None:
        if self._known(repo):
            self._json([_entry(name, data) for name, data in self.hub.repos[repo].items()])

    def _file(self, repo: str, name: str) -> None:
        if not self._known(repo):
            return
        data = self.hub.repos[repo].get(name)
        if data is None:
            self._answer(404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{_identity(data)}"', "Accept-Ranges": "bytes"}
        if name in self.hub.corrupt:
            data = bytes(len(data))
        if match := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
            start = int(match[1])
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
            self._answer(206, data[start:], headers)
        else:
            self._answer(200, data, headers)

    def _json(self, value: object) -> None:
        self._answer(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _answer(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.hub.cut_at is not None and len(body) > LARGE:
            body, self.hub.cut_at = body[: self.hub.cut_at], None
            self.close_connection = True
        self.wfile.write(body)


def _identity(data: bytes) -> str:
    if len(data) > LARGE:
        return hashlib.sha256(data).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _entry(name: str, data: bytes) -> dict[str, object]:
    entry: dict[str, object] = {"type": "file", "path": name, "size": len(data), "oid": "0" * 40}
    if len(data) > LARGE:
        entry["lfs"] = {"oid": _identity(data), "size": len(data), "pointerSize": 128}
    else:
        entry["oid"] = _identity(data)
    return entry
