"""Fixtures that several rooms share."""

import wave
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fakes.recorder import Recorder, recorder
from support import background, engine_server, gateway_server


@pytest.fixture(scope="session")
def openai_engine() -> Iterator[engine_server.EngineServer]:
    """An engine with tiny.en that serves OpenAI's API."""
    with engine_server.running("--api", "openai") as server:
        yield server


@pytest.fixture(scope="session")
def llama_engine() -> Iterator[engine_server.EngineServer]:
    """An engine with tiny.en that serves llama-server's API."""
    with engine_server.running() as server:
        yield server


@pytest.fixture(scope="session")
def base_engine() -> Iterator[engine_server.EngineServer]:
    """An engine with the multilingual base model that serves OpenAI's API."""
    with engine_server.running("--api", "openai", "-m", "base") as server:
        yield server


@pytest.fixture(scope="session")
def long_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half a minute and more of speech: 16 kHz mono wav."""
    with wave.open(str(engine_server.SPEECH / "jfk.wav"), "rb") as spoken:
        parameters, once = spoken.getparams(), spoken.readframes(spoken.getnframes())
    path = tmp_path_factory.mktemp("speech") / "long.wav"
    with wave.open(str(path), "wb") as out:
        out.setparams(parameters)
        for _ in range(3):
            out.writeframes(once)
            out.writeframes(bytes(2 * parameters.framerate // 2))
    return path


@pytest.fixture(scope="session")
def running_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[gateway_server.Gateway]:
    with gateway_server.running(tmp_path_factory.mktemp("gateway")) as running:
        yield running


@pytest.fixture
def gateway(running_gateway: gateway_server.Gateway) -> gateway_server.Gateway:
    """With the key KEY and nothing else in its store; its counters and usage rows are those of all tests so far."""
    running_gateway.reset()
    return running_gateway


@pytest.fixture
def upstream() -> Iterator[Callable[..., Recorder]]:
    """Makes a running recorder out of its answers."""
    with ExitStack() as stack:

        def make(*answers: Any, **options: Any) -> Recorder:
            return stack.enter_context(background.entered(recorder(*answers, **options)))

        yield make
