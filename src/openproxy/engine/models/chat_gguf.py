"""GGUF chat models through llama.cpp, in this process (PyPI xllamacpp).

xllamacpp always opens an HTTP listener of its own on loopback: it gets a random key, no pages and no CORS, and is asked
for what the Python side does not tell (contracts/engine.md, decision 18).
"""

import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

os.environ["GGML_NO_BACKTRACE"] = "1"  # an abort ends the process at once, without a debugger

import xllamacpp

from openproxy.engine.models import chat_wire, gguf
from openproxy.engine.models.chat import Ask, ChatSettings, Clip, Delta, Finish, Message, Step, Waiting
from openproxy.engine.models.chat_channel import Channel, threaded
from openproxy.errors import BadRequest, ContextExceeded, ModelUnusable, NotSupported, OpenProxyError, Unavailable

_QUIET = 1
"""llama.cpp's verbosity at which only errors are written."""
_ASKING_SECONDS = 30.0
"""Longest wait for the listener on loopback."""
_SHOWN = 500
"""Characters of an objection: it may repeat all of the request."""
_THINK = re.compile(r"<think>\s*$")
"""How a prompt ends whose template has opened the thinking."""
_COUNTED = 256
"""Prompts whose text tokens are remembered."""


class GgufChat:
    """An AudioChat over one GGUF, with its audio encoder where there is one.

    `parallel` answers are made at the same time, each with a context of its own; `threads` threads work for all of
    them. Raises ModelUnusable for files that do not load together.
    """

    grammar = True
    samplers = True

    def __init__(
        self,
        path: Path,
        settings: ChatSettings,
        *,
        name: str,
        threads: int = 1,
        parallel: int = 1,
        seed: int | None = None,
    ):
        found = gguf.metadata(path, name)
        gguf.check_pair(found, settings.projector, name)
        self.name = name
        self.control_tokens = gguf.control_tokens(found)
        self._key = secrets.token_urlsafe(32)
        parameters = _parameters(path, settings, threads, parallel, key=self._key)
        parameters.n_ctx = parallel * (settings.context or gguf.own_context(found))
        if seed is not None:
            parameters.sampling.seed = seed
        try:
            self._server = xllamacpp.Server(parameters)
        except RuntimeError as error:
            raise ModelUnusable(f"{name} does not load; llama.cpp says why on standard error") from error
        facts = self._listener("GET", "/props")
        self.takes_audio: bool | None = bool(facts["modalities"]["audio"])
        self.context: int | None = facts["default_generation_settings"]["n_ctx"]
        self.template: str | None = facts["chat_template"]
        self._text_tokens = lru_cache(_COUNTED)(self._count_text)
        self._opened = self._opened_thinking()

    def stream(self, messages: Sequence[Message], ask: Ask) -> Iterator[Step]:
        """See AudioChat.stream: one Delta for each token that completes a text."""
        heard = any(isinstance(part, Clip) for message in messages for part in message.content)
        if heard and not self.takes_audio:
            raise NotSupported("The current model does not support audio input.")
        request = {
            **chat_wire.sampling(ask),
            "messages": chat_wire.messages(messages, lossless=True),
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,
            "verbose": True,
        }
        opened = self._opened if ask.reasoning_format == "none" else ""
        for step in threaded(lambda channel: self._answer(request, channel, opened)):
            yield self._counted(step, messages) if heard and isinstance(step, Finish) else step

    def close(self) -> None:
        """Give back the memory of the model."""
        del self._server

    def _answer(self, request: dict[str, Any], channel: Channel, opened: str) -> None:
        answer = chat_wire.Answer()
        shown = [Delta(opened)] if opened else []

        def receive(chunk: dict[str, Any]) -> bool:
            """Take one document of the stream; True ends the work."""
            try:
                if error := chunk.get("error"):
                    channel.end(_failure(error))
                elif "prompt_progress" in chunk:
                    channel.put(Waiting())
                else:
                    for delta in answer.read(chunk):
                        while shown:
                            channel.put(shown.pop())
                        channel.put(delta)
            except Exception as error:
                channel.end(error)
                return True
            return channel.left

        try:
            self._server.handle_chat_completions(request, receive)
        except (RuntimeError, ValueError) as error:  # what llama.cpp objects to before it begins: tools, schemas, keys
            raise BadRequest(str(error)[:_SHOWN]) from error
        channel.put(answer.finish())

    def _counted(self, finish: Finish, messages: Sequence[Message]) -> Finish:
        """With the input told apart into text and audio, which llama.cpp does not do."""
        usage = finish.usage
        if usage.input_tokens is None:
            return finish
        texts = tuple((message.role, tuple(map(_text_or_none, message.content))) for message in messages)
        text = min(self._text_tokens(texts), usage.input_tokens)
        return replace(finish, usage=replace(usage, text_tokens=text, audio_tokens=usage.input_tokens - text))

    def _count_text(self, texts: tuple[tuple[str, tuple[str | None, ...]], ...]) -> int:
        """Tokens of the templated messages without their audio."""
        messages = [
            {"role": role, "content": "".join(part for part in parts if part is not None)} for role, parts in texts
        ]
        prompt = self._listener("POST", "/apply-template", {"messages": messages})["prompt"]
        asked = {"content": prompt, "add_special": True, "parse_special": True}
        return len(self._listener("POST", "/tokenize", asked)["tokens"])

    def _opened_thinking(self) -> str:
        """How the template begins the answer with the thinking, "" where it leaves that to the model.

        llama.cpp counts it as part of an answer whose thinking is shown, but leaves it out of the stream.
        """
        prompt = self._listener("POST", "/apply-template", {"messages": [{"role": "user", "content": "Hello"}]})
        found = _THINK.search(str(prompt.get("prompt", "")))
        return found[0] if found else ""

    def _listener(self, method: str, path: str, document: Mapping[str, Any] | None = None) -> Any:
        """Ask llama.cpp's own listener."""
        address = urlsplit(self._server.listening_address)
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        body = None if document is None else json.dumps(document).encode()
        with closing(HTTPConnection(address.hostname or "", address.port, timeout=_ASKING_SECONDS)) as connection:
            connection.request(method, path, body, headers)
            return json.loads(connection.getresponse().read())


def _parameters(path: Path, settings: ChatSettings, threads: int, parallel: int, *, key: str) -> Any:
    """llama.cpp's parameters: nothing is kept beyond the slots, nothing is served but to who has the key."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    if settings.projector is not None:
        parameters.mmproj.path = str(settings.projector)
    if settings.template is not None:
        parameters.chat_template = settings.template
    parameters.n_parallel = parallel
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.cache_ram_mib = 0
    parameters.verbosity = _QUIET
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [key]
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.cors_origins = "null"
    parameters.cors_credentials = False
    return parameters


def _failure(error: Mapping[str, Any]) -> OpenProxyError:
    """llama.cpp's error object as an exception."""
    status, message = error.get("code"), str(error.get("message", "unknown"))
    if error.get("type") == "exceed_context_size_error":
        tokens = {"prompt_tokens": error.get("n_prompt_tokens", 0), "context_tokens": error.get("n_ctx", 0)}
        return ContextExceeded(message, **tokens)
    if status == 400:
        return BadRequest(message)
    if status == 501:
        return NotSupported(message)
    if status == 503:
        return Unavailable(message, retry_after=1)
    return OpenProxyError(f"audio model inference failed: {message}")


def _text_or_none(part: str | Clip) -> str | None:
    return part if isinstance(part, str) else None
