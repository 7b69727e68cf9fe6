"""Spoken words in, the same words out: by the transcription route and by chat, streamed and not, through both local backends."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from support.chat_engine import asked, digits, heard
from support.digits import FOLDER, LLAMA_RIGHT, RIGHT, Spoken
from support.engine_server import EngineServer, running

QUICK = 2
"""Clips that are heard without --all."""


@pytest.fixture(scope="module")
def gguf() -> Iterator[EngineServer]:
    with digits("--parallel", "1") as server:
        yield server


@pytest.fixture(scope="module")
def folder() -> Iterator[EngineServer]:
    """Through transformers."""
    with running("-m", str(FOLDER / "model"), "--parallel", "1") as server:
        yield server


def answers(server: EngineServer, clip: Spoken, language: str) -> list[str]:
    """What all four ways give."""
    data = clip.path.read_bytes()
    question = heard(data, f"Transcribe audio to text (language: {language})")
    *deltas, done = events(server.post(clip.path, language=language, stream="true").text)
    assert "".join(delta["delta"] for delta in deltas) == done["text"]
    chunks = events(asked(server, question, stream=True).text)
    return [
        server.post(clip.path, language=language).json()["text"],
        done["text"],
        asked(server, question).json()["choices"][0]["message"]["content"],
        "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks),
    ]


def events(body: str) -> list[dict[str, Any]]:
    *frames, end = [line.removeprefix("data: ") for line in body.split("\n\n") if line]
    assert end == "[DONE]"
    return [json.loads(frame) for frame in frames]


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(
    "clip",
    [
        pytest.param(clip, id=clip.path.stem, marks=() if at < QUICK else pytest.mark.all)
        for at, clip in enumerate(LLAMA_RIGHT)
    ],
)
def test_words_through_llama_cpp(gguf: EngineServer, clip: Spoken, language: str) -> None:
    assert answers(gguf, clip, language) == [clip.words(language)] * 4


@pytest.mark.all
@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("clip", RIGHT, ids=[clip.path.stem for clip in RIGHT])
def test_words_through_transformers(folder: EngineServer, clip: Spoken, language: str) -> None:
    assert answers(folder, clip, language) == [clip.words(language)] * 4


@pytest.mark.all
def test_transformers_refuses_what_it_does_not_have(folder: EngineServer) -> None:
    clip = RIGHT[0]
    for field in ("grammar", "samplers"):
        answer = folder.post(clip.path, **{field: "x"})
        assert (answer.status_code, answer.json()["error"]["message"]) == (
            400,
            f"Field '{field}': not supported by the loaded model",
        )
        chat = asked(folder, heard(clip.path.read_bytes()), **{field: "x"})
        assert chat.status_code == 400
        assert field in chat.json()["error"]["message"]
    odd = asked(folder, heard(clip.path.read_bytes()), chat_template_kwargs={"tokenize": False})
    assert odd.status_code == 400
    assert asked(folder, heard(clip.path.read_bytes()), tools=[{"type": "function"}]).status_code == 400
