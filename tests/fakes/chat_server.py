"""A chat server with OpenAI's wire, or with whatever a test makes of it, in a thread of its own."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Document = Mapping[str, Any]


class Exchange(BaseHTTPRequestHandler):
    """One request; `document` is its JSON body. Answered by what the test says, then the connection is closed."""

    server: "_Listener"
    document: dict[str, Any]

    def do_GET(self) -> None:
        self._note({})
        self.send_json(*self.server.owner.pages.get(self.path, (404, {"error": {"message": "no such route"}})))

    def do_POST(self) -> None:
        self.document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._note(self.document)
        self.server.owner.answer(self)

    def send_head(self, status: int, content_type: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def send_json(self, status: int, document: Document, **headers: str) -> None:
        self.send_head(status, "application/json", **headers)
        self.wfile.write(json.dumps(document).encode())

    def send_events(self, *documents: Document | bytes, done: bool = True) -> None:
        self.send_head(200, "text/event-stream")
        for document in documents:
            self.send_event(document)
        if done:
            self.wfile.write(b"data: [DONE]\n\n")

    def send_event(self, document: Document | bytes) -> None:
        raw = document if isinstance(document, bytes) else b"data: " + json.dumps(document).encode() + b"\n\n"
        self.wfile.write(raw)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""

    def _note(self, document: Document) -> None:
        self.server.owner.requests.append((self.command, self.path, dict(self.headers), document))


@dataclass
class ChatServer:
    """What the server answers, and what it was asked."""

    answer: Callable[[Exchange], None] = lambda exchange: exchange.send_events(*spoken("hello"))
    pages: dict[str, tuple[int, Document]] = field(default_factory=lambda: {"/v1/models": (200, listed("stub"))})
    requests: list[tuple[str, str, dict[str, str], Document]] = field(default_factory=list)
    url: str = ""


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    owner: ChatServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no error."""


@contextmanager
def serving(server: ChatServer) -> Iterator[ChatServer]:
    """The server on a free port of the loopback interface; `url` is its base address, without /v1."""
    listener = _Listener(("127.0.0.1", 0), Exchange)
    listener.owner = server
    server.url = f"http://127.0.0.1:{listener.server_address[1]}"
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()


def listed(*models: str, **more: Any) -> Document:
    """The document of /v1/models."""
    return {"object": "list", "data": [{"id": model, "object": "model", **more} for model in models]}


def chunk(delta: Document, finish_reason: str | None = None, **more: Any) -> dict[str, Any]:
    """One document of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "stub",
        "choices": [choice],
        **more,
    }


def usage(read: int = 90, written: int = 12, cached: int = 0) -> dict[str, Any]:
    """The last document of a stream that was asked for its usage."""
    counts = {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    return {**chunk({}), "choices": [], "usage": counts}


def spoken(*texts: str, reason: str = "stop") -> tuple[dict[str, Any], ...]:
    """A whole stream with these pieces."""
    return (
        chunk({"role": "assistant", "content": None}),
        *(chunk({"content": text}) for text in texts),
        chunk({}, reason),
        usage(),
    )
