"""GGUF chat models through `llama-server` from PATH: a child of this process, asked as any other chat server.

Options: llama.cpp, tools/server/README.md. What only some versions know goes into the environment, where the others pass
over it.
"""

import logging
import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from openproxy.engine.models import gguf, lifeline
from openproxy.engine.models.chat import Ask, ChatSettings, Message, Step
from openproxy.engine.models.chat_remote import RemoteChat
from openproxy.errors import ModelUnusable, Unavailable

PROGRAM = "llama-server"
_LOADING_SECONDS = 600.0
_PAUSE_SECONDS = 0.05
_ASKING_SECONDS = 5.0

_log = logging.getLogger(__name__)


class LlamaServerChat:
    """An AudioChat over one GGUF in a `llama-server` of its own, which ends with this process, however that ends.

    `parallel` answers are made at the same time, each with a context of its own; `threads` threads work for all of
    them. A server that has died is started again by the next question. Raises ModelUnusable for files that do not load
    together, and where there is no llama-server.
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
        self._settings = settings
        self._arguments = _arguments(
            path, settings, threads, parallel, context=settings.context or gguf.own_context(found), seed=seed
        )
        self._starting = threading.Lock()
        self._start()
        self.takes_audio = self._remote.takes_audio
        self.context = self._remote.context
        self.template = self._remote.template

    def stream(self, messages: Sequence[Message], ask: Ask) -> Iterator[Step]:
        """See AudioChat.stream: one Delta for each event that has text."""
        self._start_again()
        yield from self._remote.stream(messages, ask)

    def close(self) -> None:
        """End the server."""
        self._remote.close()
        _end(self._process)

    def _start_again(self) -> None:
        """Start a server that has died. Raises Unavailable where that cannot be: the files did load once."""
        with self._starting:
            if self._process.poll() is None:
                return
            self._remote.close()
            try:
                self._start()
            except ModelUnusable as error:
                _log.error("The model cannot be loaded again: %s", error.message)
                raise Unavailable(
                    "The model cannot be loaded at the moment. Please try again later.",
                    code="model_not_loaded",
                    retry_after=1,
                ) from None

    def _start(self) -> None:
        program = shutil.which(PROGRAM)
        if program is None:
            raise ModelUnusable(f"{PROGRAM} is not on PATH")
        port, key = _free_port(), secrets.token_urlsafe(32)
        command = [sys.executable, "-I", "-S", lifeline.__file__, program, *self._arguments, "--port", str(port)]
        self._process = subprocess.Popen(  # noqa: S603 - the program that the user installed, by its name
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=_environment(key),
            start_new_session=True,  # an interrupt at the terminal is for this process alone
        )
        try:
            _wait(self._process, port, self.name)
            settings = replace(self._settings, key=key)
            self._remote = RemoteChat(f"http://127.0.0.1:{port}", settings, lossless=True)
        except BaseException:
            _end(self._process)
            raise


def _arguments(
    path: Path, settings: ChatSettings, threads: int, parallel: int, *, context: int, seed: int | None
) -> list[str]:
    arguments = ["--model", str(path), "--host", "127.0.0.1", "--jinja"]
    if settings.projector is not None:
        arguments += ["--mmproj", str(settings.projector)]
    if settings.template is not None:
        arguments += ["--chat-template", settings.template]
    if seed is not None:
        arguments += ["--seed", str(seed)]
    sizes = {"ctx-size": parallel * context, "parallel": parallel, "threads": threads, "threads-batch": threads}
    return arguments + [part for name, size in sizes.items() for part in (f"--{name}", str(size))]


def _environment(key: str) -> Mapping[str, str]:
    """Nothing is kept beyond the slots, nothing is served but to who has the key (contracts/engine.md, decision 18).

    The key is here because every user of the machine may read the arguments of a program.
    """
    return {
        **os.environ,
        "LLAMA_API_KEY": key,
        "LLAMA_ARG_CACHE_RAM": "0",
        "LLAMA_ARG_CORS_ORIGINS": "null",
        "LLAMA_ARG_CORS_CREDENTIALS": "0",
        "LLAMA_ARG_UI": "0",
        "LLAMA_ARG_WEBUI": "0",
        "LLAMA_ARG_ENDPOINT_SLOTS": "0",
        "LLAMA_ARG_LOG_VERBOSITY": "1",
        "GGML_NO_BACKTRACE": "1",
    }


def _free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _wait(process: subprocess.Popen[bytes], port: int, name: str) -> None:
    """Until the server has loaded its model. Raises ModelUnusable where it ends instead."""
    deadline = time.monotonic() + _LOADING_SECONDS
    while time.monotonic() < deadline:
        if (status := process.poll()) is not None:
            raise ModelUnusable(
                f"{name} does not load: {PROGRAM} ended with status {status}; it says why on standard error"
            )
        with suppress(OSError, HTTPException), closing(_connection(port)) as connection:
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        time.sleep(_PAUSE_SECONDS)
    raise ModelUnusable(f"{name} does not load: {PROGRAM} was not ready within {_LOADING_SECONDS:g} s")


def _connection(port: int) -> HTTPConnection:
    return HTTPConnection("127.0.0.1", port, timeout=_ASKING_SECONDS)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the pipe that keeps the server alive."""
    if process.stdin is not None:
        process.stdin.close()
    process.wait()
