"""Fixtures that several rooms share."""

import wave
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import engine_server


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
