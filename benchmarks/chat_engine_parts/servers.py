"""The engine and llama.cpp's own server, with one model, and the routes that are asked."""

import base64
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
from engine_parts import engine_server
from engine_parts.setting import PROGRAMS

DIGITS = Path(__file__).parents[2] / "tests" / "data" / "models" / "digits"
MODEL = DIGITS / "gguf" / "digits.gguf"
PROJECTOR = DIGITS / "gguf" / "mmproj-digits.gguf"
CONTEXT = 2048
QUESTION = "Transcribe audio to text"
"""What the transcription routes of both servers ask the model (contracts/engine.md, section 5)."""
TRANSCRIPTIONS, COMPLETIONS = "/v1/audio/transcriptions", "/v1/chat/completions"
ONE_REQUEST = httpx.Limits(max_keepalive_connections=0)
"""A connection for each request: llama.cpp's server closes some after a stream without saying so."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One streamed answer."""

    text: str
    first: float
    """Seconds until its first text."""
    last: float
    """Seconds until its last text."""
    whole: float
    """Seconds until its end."""
    pieces: int


@dataclass(frozen=True, slots=True)
class Route:
    """One route of one server, with the model behind it."""

    name: str
    url: str
    client: httpx.Client

    def ask(self, clip: Path, **settings: object) -> Heard:
        """Have a recording written down, streamed. Raises RuntimeError for anything but text."""
        path = httpx.URL(self.url).path
        request = _conversation(clip, settings) if path == COMPLETIONS else _form(clip, settings)
        begun = time.perf_counter()
        moments: list[float] = []
        texts: list[str] = []
        with self.client.stream("POST", self.url, **request) as answer:
            if answer.status_code != 200:
                raise RuntimeError(f"{self.name}: {answer.status_code} {answer.read().decode()}")
            for line in answer.iter_lines():
                if line.startswith("data: {") and (text := _text(json.loads(line[6:]))):
                    moments.append(time.perf_counter() - begun)
                    texts.append(text)
        if not texts:
            raise RuntimeError(f"{self.name} gave no text")
        return Heard("".join(texts), moments[0], moments[-1], time.perf_counter() - begun, len(texts))


def _form(clip: Path, settings: Mapping[str, object]) -> dict[str, Any]:
    fields = {"stream": "true", **{name: str(value) for name, value in settings.items()}}
    return {"data": fields, "files": {"file": (clip.name, clip.read_bytes())}}


def _conversation(clip: Path, settings: Mapping[str, object]) -> dict[str, Any]:
    audio = {"data": base64.b64encode(clip.read_bytes()).decode(), "format": "wav"}
    content = [{"type": "text", "text": QUESTION}, {"type": "input_audio", "input_audio": audio}]
    return {"json": {"messages": [{"role": "user", "content": content}], "stream": True, **settings}}


def _text(event: dict[str, Any]) -> str:
    """What an event of either API adds to the text."""
    if "choices" in event:
        return "".join(choice["delta"].get("content") or "" for choice in event["choices"])
    return str(event["delta"]) if event["type"] == "transcript.text.delta" else ""


@dataclass(frozen=True, slots=True)
class Servers:
    """Both servers, at work."""

    routes: tuple[Route, Route, Route, Route]
    """The engine's transcriptions and chat, then llama.cpp's."""
    engine: engine_server.Server
    llama: psutil.Process


@contextmanager
def running() -> Iterator[Servers]:
    """Both servers with the digits model, one slot and one thread each, for as long as the block lasts."""
    arguments = ["--mmproj", str(PROJECTOR), "--ctx-size", str(CONTEXT), "--threads", "1", "--parallel", "1"]
    with (
        engine_server.running(*arguments, model=MODEL, api="llama") as engine,
        _llama_cpp() as (llama, address),
        httpx.Client(timeout=engine_server.PATIENCE, limits=ONE_REQUEST) as client,
    ):
        routes = (
            Route("openproxy-engine, transcriptions", engine.url + TRANSCRIPTIONS, client),
            Route("openproxy-engine, chat", engine.url + COMPLETIONS, client),
            Route("llama.cpp, transcriptions", address + TRANSCRIPTIONS, client),
            Route("llama.cpp, chat", address + COMPLETIONS, client),
        )
        yield Servers(routes, engine, llama)


@contextmanager
def _llama_cpp() -> Iterator[tuple[psutil.Process, str]]:
    command: list[str | Path] = [sys.executable, PROGRAMS / "llama_cpp.py", MODEL, PROJECTOR, str(CONTEXT)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        address = child.stdout.readline().strip()
        if not address:
            raise RuntimeError("llama.cpp ended before it listened")
        yield psutil.Process(child.pid), address
    finally:
        child.stdin.close()
        child.wait(30)
