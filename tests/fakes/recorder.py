"""An upstream that takes everything, writes it down whole, and answers what it was told to."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from fakes.loopback import serve


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Recorder:
    """Answers come from `answers` in turn; the last one is repeated."""

    answers: list[tuple[int, str, bytes]]
    seen: list[Seen] = field(default_factory=list)
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    """Of every answer, beside its type."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        raw_path, _, query = request.raw_path.partition("?")
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.seen.append(Seen(request.method, raw_path, query, headers, await request.read()))
        status, content_type, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        answer = web.Response(status=status, body=body)
        answer.headers.update({"Content-Type": content_type, **self.headers})
        return answer


@asynccontextmanager
async def recorder(
    *answers: Any,
    content_type: str = "application/json",
    host: str = "127.0.0.1",
    headers: dict[str, str] | None = None,
) -> AsyncIterator[Recorder]:
    """A running recorder. An answer is a JSON value, bytes, or (status, JSON value or bytes)."""
    told = []
    for answer in answers or ({"text": "hello"},):
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        told.append((status, content_type, body if isinstance(body, bytes) else json.dumps(body).encode()))
    this = Recorder(told, headers=headers or {})
    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/{anything:.*}", this.handle)
    async with serve(app, host) as url:
        this.url = url
        yield this
