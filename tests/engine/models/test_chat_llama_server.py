import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from fakes.llama_server import put_on_path
from openproxy.engine.models import Options
from openproxy.engine.models.chat import Ask, AudioChat, ChatSettings, Clip, Delta, Finish, Message, Waiting
from openproxy.engine.models.chat_llama_server import LlamaServerChat
from openproxy.engine.models.chat_transcriber import ChatTranscriber
from openproxy.engine.models.load import load
from openproxy.errors import ContextExceeded, ModelUnusable, NotSupported, OpenProxyError, Unavailable
from openproxy.transcript import Transcript
from support.digits import GGUF, LLAMA_RIGHT, PROJECTOR
from support.recordings import recording

ENDLESS = r'root ::= "one " root'
CLIP = LLAMA_RIGHT[0]


@pytest.fixture(scope="module")
def on_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("bin")
    program = put_on_path(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder), prepend=os.pathsep)
        yield program


@pytest.fixture(scope="module")
def chat(on_path: Path) -> Iterator[LlamaServerChat]:
    chat = LlamaServerChat(GGUF, ChatSettings(projector=PROJECTOR), name="digits", parallel=2)
    yield chat
    chat.close()


def _servers(parent: int | None = None) -> list[psutil.Process]:
    """The llama-servers below a process."""
    return [
        child
        for child in psutil.Process(parent).children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE and "lifeline.py" not in " ".join(child.cmdline())
        if any(Path(part).name == "llama_server.py" for part in child.cmdline())
    ]


def _answer(chat: AudioChat, *parts: str | Clip, ask: Ask | None = None) -> tuple[str, Finish]:
    *steps, end = (step for step in chat.stream([Message("user", parts)], ask or Ask()) if step != Waiting())
    assert isinstance(end, Finish)
    return "".join(step.text for step in steps if isinstance(step, Delta)), end


def test_facts_are_those_of_the_files(chat: LlamaServerChat) -> None:
    assert (chat.name, chat.takes_audio, chat.context) == ("digits", True, 2048)
    assert (chat.grammar, chat.samplers) == (True, True)
    assert "<|im_end|>" in chat.control_tokens
    assert chat.template is not None
    assert chat.template.startswith("{% for m in messages %}<|im_start|>")


@pytest.mark.parametrize("language", [None, "de"])
def test_spoken_words_are_written_down(chat: LlamaServerChat, language: str | None) -> None:
    for clip in LLAMA_RIGHT[:3]:
        items = list(ChatTranscriber(chat).stream(recording(clip.samples), Options(language=language)))
        transcript = items[-1]
        assert isinstance(transcript, Transcript)
        assert transcript.text == clip.words(language or "en")
        assert transcript.usage is not None
        assert transcript.usage.output_tokens == len(transcript.text.split()) + 1


def test_settings_reach_the_server(chat: LlamaServerChat) -> None:
    text, end = _answer(chat, "hi", ask=Ask(grammar=ENDLESS, max_tokens=3))
    assert (text, end.reason, end.usage.output_tokens) == ("one one one", "length", 3)
    text, end = _answer(chat, "hi", ask=Ask(grammar=r'root ::= "hello world"', stop=("wor",)))
    assert (text, end.stop) == ("hello ", "wor")


def test_too_long_a_prompt_is_refused_with_its_sizes(chat: LlamaServerChat) -> None:
    with pytest.raises(ContextExceeded) as caught:
        _answer(chat, "five " * 3000)
    assert caught.value.context_tokens == 2048
    assert caught.value.prompt_tokens > 3000


def test_it_serves_only_who_has_the_key_and_shows_no_pages(chat: LlamaServerChat) -> None:
    (server,) = _servers()
    address = f"http://127.0.0.1:{server.cmdline()[server.cmdline().index('--port') + 1]}"
    origin = {"Origin": "http://elsewhere.example"}
    answer = httpx.get(address + "/props", headers=origin)
    assert answer.status_code == 401
    assert answer.headers.get("Access-Control-Allow-Origin") != "http://elsewhere.example"
    key = server.environ()["LLAMA_API_KEY"]
    assert httpx.get(address + "/", headers={"Authorization": f"Bearer {key}"}).status_code == 404
    assert all(key not in part for process in (server, server.parent()) for part in process.cmdline())
    assert {connection.laddr.ip for connection in server.net_connections() if connection.status == "LISTEN"} == {
        "127.0.0.1"
    }


def test_a_server_that_died_is_started_again(chat: LlamaServerChat) -> None:
    (server,) = _servers()
    server.kill()
    chat._process.wait(10)
    assert _answer(chat, "hi", ask=Ask(grammar='root ::= "yes"'))[0] == "yes"
    assert [process.pid for process in _servers()] != [server.pid]


def test_a_server_that_cannot_be_started_again_is_not_the_clients_fault(on_path: Path) -> None:
    chat = LlamaServerChat(GGUF, ChatSettings(), name="digits")
    kept = on_path.read_text()
    try:
        on_path.write_text("#!/bin/sh\nexit 3\n")
        chat._process.stdin.close()  # type: ignore[union-attr]  # a pipe
        chat._process.wait(10)
        for _ in range(2):
            with pytest.raises(Unavailable) as caught:
                _answer(chat, "hi")
            assert (caught.value.status, caught.value.code, caught.value.retry_after) == (503, "model_not_loaded", 1)
            assert caught.value.message == "The model cannot be loaded at the moment. Please try again later."
        on_path.write_text(kept)
        assert _answer(chat, "hi", ask=Ask(grammar='root ::= "yes"'))[0] == "yes"
    finally:
        on_path.write_text(kept)
        chat.close()


@pytest.mark.parametrize(
    ("message", "ask", "begins"),
    [
        (Message("user", ("hi",)), Ask(more={"tools": [{"type": "other"}]}), "Failed to parse tools: "),
        (Message("user", ("hi",)), Ask(more={"tools": [{"type": "function", "function": {}}]}), "Failed to parse tools: "),
        (Message("assistant", (), {"tool_calls": [5]}), Ask(), "Failed to parse messages: "),
        (Message("user", ("hi",)), Ask(more={"response_format": {"type": "x"}}), "response_format type must be "),
        (Message("user", ("hi",)), Ask(grammar="root ::= ("), "Failed to initialize samplers: "),
    ],
)  # fmt: skip
def test_what_llama_server_objects_to_is_the_clients_fault(
    chat: LlamaServerChat, message: Message, ask: Ask, begins: str
) -> None:
    with pytest.raises(OpenProxyError) as caught:
        list(chat.stream([message], ask))
    assert (caught.value.status, caught.value.type) == (400, "invalid_request_error")
    assert caught.value.message.startswith(begins)


def test_closing_ends_the_server(on_path: Path) -> None:
    before = {process.pid for process in _servers()}
    chat = LlamaServerChat(GGUF, ChatSettings(), name="digits")
    assert chat.takes_audio is False
    with pytest.raises(NotSupported):
        _answer(chat, Clip(CLIP.samples))
    (own,) = (process for process in _servers() if process.pid not in before)
    chat.close()
    own.wait(10)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_ends_with_its_process_however_that_ends(on_path: Path, end: signal.Signals) -> None:
    program = (
        "import pathlib, sys, time\n"
        "from openproxy.engine.models.chat import ChatSettings\n"
        "from openproxy.engine.models.chat_llama_server import LlamaServerChat\n"
        "chat = LlamaServerChat(pathlib.Path(sys.argv[1]), ChatSettings(), name='digits')\n"
        "print('loaded', flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(GGUF)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "loaded\n"
        (server,) = _servers(parent.pid)
        parent.send_signal(end)
    server.wait(10)


def test_a_file_that_does_not_load_is_said_and_leaves_nothing_behind(on_path: Path, tmp_path: Path) -> None:
    before = {process.pid for process in _servers()}
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(GGUF.read_bytes()[:-1000])
    with pytest.raises(ModelUnusable) as caught:
        LlamaServerChat(broken, ChatSettings(), name="broken")
    assert caught.value.message == (
        "broken does not load: llama-server ended with status 1; it says why on standard error"
    )
    assert {process.pid for process in _servers()} == before


def test_a_gguf_is_loaded_by_what_is_there(on_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.delitem(sys.modules, "openproxy.engine.models.chat_gguf", raising=False)
    model = load(str(GGUF), chat=ChatSettings(projector=PROJECTOR))
    assert isinstance(model, ChatTranscriber)
    assert isinstance(model.chat, LlamaServerChat)
    transcript = list(model.stream(recording(CLIP.samples), Options()))[-1]
    assert isinstance(transcript, Transcript)
    assert transcript.text == CLIP.en
    model.chat.close()
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(ModelUnusable) as caught:
        load(str(GGUF))
    assert caught.value.message == (
        "llama.cpp is not installed (xllamacpp is missing, and llama-server is not on PATH): "
        "pip install 'openproxy-stt[llamacpp]'"
    )
