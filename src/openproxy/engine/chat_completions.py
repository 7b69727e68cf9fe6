"""The handler of the chat route: a conversation goes to the loaded chat model, its answer comes back whole or as it is made."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from openproxy.audio.limits import Limits
from openproxy.engine import chat_requests
from openproxy.engine.chat_answers import Completion
from openproxy.engine.exchange import Exchange
from openproxy.engine.models.chat import Ask, Delta, Finish
from openproxy.engine.settings import EngineSettings
from openproxy.engine.worker import Worker
from openproxy.engine.worker_messages import ChatJob
from openproxy.errors import Loading, Unavailable, UnsupportedEncoding
from openproxy.web.body import limited

_HEADROOM = 1024 * 1024
"""Bytes of a request beyond a recording of the largest size in base64."""

Results = AsyncGenerator[Delta | Finish]


class ChatCompletions:
    """The handler of `/v1/chat/completions`."""

    def __init__(self, settings: EngineSettings, worker: Worker):
        self._settings = settings
        self._worker = worker
        self._defaults = Ask(
            temperature=settings.temperature, max_tokens=None if settings.max_tokens < 0 else settings.max_tokens
        )
        self._limits = Limits(settings.max_seconds, settings.max_rate, settings.max_channels, settings.max_bytes)

    async def complete(self, exchange: Exchange) -> None:
        """Answer a conversation. 503 where the loaded model does not chat (contracts/engine.md, decision 2)."""
        facts = self._worker.facts
        if facts is None:
            raise Loading("Loading model", retry_after=1)
        if facts.kind != "chat":
            raise Unavailable(
                f"No chat model is loaded: '{facts.name}' is a speech-to-text model, served on /v1/audio/transcriptions",
                code="no_chat_model",
            )
        body = await self._body(exchange)
        wanted = await asyncio.to_thread(
            chat_requests.read,
            body,
            self._defaults,
            max_recordings=self._settings.max_parts,
            max_bytes=self._settings.max_bytes,
        )
        del body
        job = ChatJob(wanted.turns, self._limits, wanted.ask, strict_containers=self._settings.strict_containers)
        await exchange.while_connected(self._answer(exchange, job, wanted, Completion(facts.name)))

    async def _body(self, exchange: Exchange) -> bytes:
        encoding = (exchange.header("content-encoding") or "identity").strip().lower()
        if encoding != "identity":
            raise UnsupportedEncoding("A request with a Content-Encoding is not read; send it as it is")
        most = self._settings.max_bytes * 4 // 3 + _HEADROOM
        chunks = limited(exchange.chunks(), most, declared=exchange.declared)
        return b"".join([chunk async for chunk in chunks])

    async def _answer(
        self, exchange: Exchange, job: ChatJob, wanted: chat_requests.Wanted, completion: Completion
    ) -> None:
        async with aclosing(self._results(job)) as results:
            if wanted.stream:
                first = await anext(results)
                await exchange.stream(completion.frames(first, results, include_usage=wanted.include_usage))
                return
            deltas: list[Delta] = []
            async for step in results:
                if isinstance(step, Finish):
                    await exchange.reply(completion.whole(deltas, step))
                    return
                deltas.append(step)

    async def _results(self, job: ChatJob) -> Results:
        """The steps of an answer, Finish last."""
        async with aclosing(self._worker.submit(job)) as results:
            async for result in results:
                if isinstance(result, Delta | Finish):
                    yield result
