"""Any server with OpenAI's chat completions, by its URL: llama-server, vLLM, SGLang, mlx-vlm and others.

Its errors are carried, its stream is passed on as it comes.
"""

import asyncio
import os
import re
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from openproxy.engine.models import chat_wire
from openproxy.engine.models.chat import Ask, ChatSettings, Clip, Delta, Message, Step
from openproxy.engine.models.chat_channel import Channel
from openproxy.engine.models.chat_events import END, documents
from openproxy.engine.models.chat_server import Access, Kind, base_url, identify
from openproxy.engine.models.chat_text import StopAt
from openproxy.errors import BadRequest, ContextExceeded, ModelUnusable, NotSupported, TimedOut, UpstreamError
from openproxy.providers.bodies import json_value
from openproxy.providers.credentials import redacted
from openproxy.providers.http import Client, Limits
from openproxy.upload import Connection

KEY_VARIABLE = "OPENPROXY_ENGINE_UPSTREAM_KEY"
"""Environment variable with the key for the chat server."""
IDLE_SECONDS = 120.0
"""Without a byte for so long, an answer is given up."""
_CONNECT_SECONDS = 10.0
_ANSWER_BYTES = 64 * 1024 * 1024
_RETRY_SECONDS = 1
"""To wait for a server that is loading and does not say how long."""
_LLAMA_EXCEEDED = re.compile(r"request \((\d+) tokens\) exceeds the available context size \((\d+) tokens\)")
_VLLM_EXCEEDED = re.compile(r"maximum context length is (\d+) tokens\D*(\d+)")

_LLAMA_OBJECTION = re.compile(
    r"Failed to parse (?:messages|tools|tool_choice|response_format)\b|Unknown reasoning format|\[json\.exception\."
)
"""How messages begin with which llama-server answers 500 to what the client sent (contracts/engine.md, decision 5)."""

T = TypeVar("T")


class RemoteChat:
    """An AudioChat at a URL, with `#model` behind it where the server has several.

    The key is `settings.key`, else that of KEY_VARIABLE. Raises ModelUnusable for an address that cannot be used or
    reached, a key that is refused, a model that is not there; waits for a server that is still loading. Audio is sent
    with 16 bits, which every server reads, or `lossless`.
    """

    def __init__(self, reference: str, settings: ChatSettings, *, idle: float = IDLE_SECONDS, lossless: bool = False):
        address, _, model = reference.partition("#")
        key = (settings.key or os.environ.get(KEY_VARIABLE, "")).strip()
        if not (key.isascii() and key.isprintable()):
            raise ModelUnusable(f"the key in {KEY_VARIABLE} holds characters that no HTTP header can carry")
        self._idle = idle
        self._lossless = lossless
        self._access = Access(
            Client(Limits(connect=_CONNECT_SECONDS, idle=2 * idle, answer_bytes=_ANSWER_BYTES)),
            Connection("engine", "engine", key, base_url(address)),
            {"Authorization": f"Bearer {key}"} if key else {},
        )
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._serve, name="chat server", daemon=True).start()
        try:
            facts = self._run(self._start(model))
        except BaseException:
            self.close()
            raise
        self._facts = facts
        self.name = facts.model.rpartition("/")[2] if facts.model.startswith("/") else facts.model
        self.takes_audio = facts.takes_audio
        self.context = facts.context
        self.template = facts.template
        self.control_tokens: frozenset[str] = frozenset()
        self.grammar = self.samplers = facts.kind == "llamacpp"

    def stream(self, messages: Sequence[Message], ask: Ask) -> Iterator[Step]:
        """See AudioChat.stream: one Delta for each event that has text."""
        chat_wire.refuse(ask, "this chat server", grammar=self.grammar, samplers=self.samplers, more=True)
        heard = any(isinstance(part, Clip) for message in messages for part in message.content)
        if heard and self.takes_audio is False:
            raise NotSupported("The current model does not support audio input.")
        channel = Channel()
        work = self._answer(self._request(messages, ask), ask, channel)
        answering = asyncio.run_coroutine_threadsafe(work, self._loop)
        yield from channel.read(answering.cancel)

    def close(self) -> None:
        """Close the connections; answers that are still on their way are lost."""
        if self._loop.is_running():
            self._run(self._access.client.close())
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _serve(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    async def _start(self, model: str) -> Any:
        self._access.client.start()
        return await identify(self._access, model)

    def _request(self, messages: Sequence[Message], ask: Ask) -> dict[str, Any]:
        """What every server takes, and of the rest what this kind of server is known to take."""
        kind = self._facts.kind
        request = {
            **chat_wire.sampling(ask),
            "model": self._facts.model,
            "messages": chat_wire.messages(messages, lossless=self._lossless),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if kind == "llamacpp":
            request["verbose"] = True
        else:
            request.pop("reasoning_format", None)
        if kind is None:
            request.pop("stop", None)  # whether one ended the answer would stay unknown
        return request

    async def _answer(self, request: Mapping[str, Any], ask: Ask, channel: Channel) -> None:
        try:
            await self._exchange(request, ask, channel)
        except TimeoutError:
            channel.end(TimedOut(f"The chat server sent nothing for {self._idle:g} s"))
        except UpstreamError as error:
            channel.end(_meant(error, self._access.connection, self._facts.kind))
        except Exception as error:
            channel.end(error)
        else:
            channel.end()

    async def _exchange(self, request: Mapping[str, Any], ask: Ask, channel: Channel) -> None:
        access = self._access
        async with asyncio.timeout(self._idle):
            response = await access.client.post(
                access.url("/chat/completions"), access.connection, access.headers, json_value(request)
            )
        answer, stop = chat_wire.Answer(), StopAt(ask.stop)
        async for document in documents(response, self._idle):
            if document is END:
                answer.end()
            for delta in answer.read(document):
                shown = replace(delta, text=stop.feed(delta.text))
                if shown != Delta():
                    channel.put(shown)
            if stop.found is not None:
                response.close()
                break
        if stop.found is None and not answer.complete:
            raise UpstreamError(502, "The chat server ended its stream before the answer was complete")
        if rest := stop.end():
            channel.put(Delta(rest))
        channel.put(answer.finish(stop=stop.found))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _meant(error: UpstreamError, connection: Connection, kind: Kind | None) -> Exception:
    """An upstream error as the client is to see it: without the key, with what helps."""
    message = redacted(error.message, connection)
    if kind == "llamacpp" and error.status == 500 and _LLAMA_OBJECTION.match(message):
        return BadRequest(message)
    for pattern, prompt, context in ((_LLAMA_EXCEEDED, 1, 2), (_VLLM_EXCEEDED, 2, 1)):
        if error.status == 400 and (found := pattern.search(message)):
            return ContextExceeded(message, prompt_tokens=int(found[prompt]), context_tokens=int(found[context]))
    retry = error.retry_after
    if error.status in (401, 403):
        message = f"The chat server refuses the key of this engine ({message}); it is set with {KEY_VARIABLE}"
    elif error.status == 503 and retry is None:
        retry = _RETRY_SECONDS
    return UpstreamError(error.status, message, code=error.code, retry_after=retry)
