import shutil
import sys
import threading
from pathlib import Path

import pytest

from openproxy.engine.models import Options, Piece
from openproxy.engine.models.chat import Ask, AudioChat, ChatSettings, Clip, Delta, Finish, Message, Step, Waiting
from openproxy.engine.models.chat_transcriber import ChatTranscriber
from openproxy.engine.models.load import load
from openproxy.errors import BadRequest, ContextExceeded, ModelUnusable
from openproxy.transcript import Transcript
from support.digits import LLAMA_RIGHT
from support.recordings import recording

CLIP, OTHER = (Clip(clip.samples) for clip in LLAMA_RIGHT[:2])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support.make_mlx_chat import write

    return write(tmp_path_factory.mktemp("mlx") / "gemma")


@pytest.fixture(scope="module")
def model(folder: Path) -> ChatTranscriber:
    model = load(str(folder))
    assert isinstance(model, ChatTranscriber)
    return model


@pytest.fixture(scope="module")
def chat(model: ChatTranscriber) -> AudioChat:
    return model.chat


def _steps(chat: AudioChat, *parts: str | Clip, ask: Ask) -> list[Step]:
    return [step for step in chat.stream([Message("user", parts)], ask) if step != Waiting()]


def _answer(chat: AudioChat, *parts: str | Clip, ask: Ask) -> tuple[str, Finish]:
    *deltas, end = _steps(chat, *parts, ask=ask)
    assert isinstance(end, Finish)
    return "".join(step.text for step in deltas if isinstance(step, Delta)), end


@pytest.mark.all
def test_facts_are_those_of_the_folder(model: ChatTranscriber, chat: AudioChat) -> None:
    assert (model.facts.name, model.facts.kind, model.facts.takes_audio) == ("gemma", "chat", True)
    assert (chat.context, chat.grammar, chat.samplers) == (2048, False, False)
    assert chat.template is not None
    assert chat.template.startswith("<bos>{% for message in messages %}")
    assert {"<|turn>", "<turn|>", "<|audio|>"} <= chat.control_tokens


@pytest.mark.all
def test_what_it_hears_and_reads_decides_the_answer(chat: AudioChat) -> None:
    ask = Ask(temperature=0, max_tokens=16)
    answers = {_answer(chat, "words?", clip, ask=ask)[0] for clip in (CLIP, OTHER)}
    assert len(answers) == 2
    text, end = _answer(chat, "words?", CLIP, ask=ask)
    assert text in answers
    assert (end.reason, end.usage.output_tokens) == ("length", 16)
    assert end.usage.input_tokens is not None
    assert end.usage.audio_tokens == 1 + round(len(CLIP.samples) / 640)
    assert end.usage.text_tokens == end.usage.input_tokens - end.usage.audio_tokens
    both = _answer(chat, "words?", CLIP, OTHER, ask=ask)[1].usage.audio_tokens
    assert both is not None
    assert both > 1 + end.usage.audio_tokens


@pytest.mark.all
def test_a_stop_string_ends_the_answer(chat: AudioChat) -> None:
    text, _ = _answer(chat, "words?", CLIP, ask=Ask(temperature=0, max_tokens=16))
    stop = text[3:5]
    ended, end = _answer(chat, "words?", CLIP, ask=Ask(temperature=0, max_tokens=16, stop=(stop,)))
    assert (ended, end.reason, end.stop) == (text[: text.index(stop)], "stop", stop)


@pytest.mark.all
def test_sampling_follows_its_seed(chat: AudioChat) -> None:
    texts = [_answer(chat, "hi", CLIP, ask=Ask(temperature=5.0, seed=seed, max_tokens=20))[0] for seed in (7, 7, 8)]
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


@pytest.mark.all
def test_an_answer_that_is_left_makes_room_for_the_next(chat: AudioChat) -> None:
    steps = chat.stream([Message("user", ("words?", CLIP))], Ask(temperature=0, max_tokens=1500))
    assert isinstance(next(step for step in steps if step != Waiting()), Delta)
    steps.close()  # type: ignore[attr-defined]
    assert _answer(chat, "words?", CLIP, ask=Ask(temperature=0, max_tokens=2))[1].usage.output_tokens == 2


@pytest.mark.all
def test_answers_asked_for_at_once_are_those_asked_for_alone(chat: AudioChat) -> None:
    ask = Ask(temperature=0, max_tokens=16)
    alone = [_answer(chat, "words?", clip, ask=ask)[0] for clip in (CLIP, OTHER)]
    together = ["", ""]

    def hear(at: int) -> None:
        together[at] = _answer(chat, "words?", (CLIP, OTHER)[at], ask=ask)[0]

    threads = [threading.Thread(target=hear, args=(at,)) for at in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


@pytest.mark.all
def test_a_recording_becomes_pieces_and_a_transcript(model: ChatTranscriber) -> None:
    items = list(model.stream(recording(CLIP.samples), Options(max_tokens=8)))
    transcript = items[-1]
    assert isinstance(transcript, Transcript)
    assert transcript.text == "".join(item.text for item in items if isinstance(item, Piece))
    assert transcript.usage is not None
    assert transcript.usage.output_tokens == 8


@pytest.mark.all
def test_what_does_not_fit_or_is_not_there_is_refused(chat: AudioChat) -> None:
    with pytest.raises(ContextExceeded) as exceeded:
        _answer(chat, "x" * 3000, ask=Ask())
    assert (exceeded.value.context_tokens, exceeded.value.prompt_tokens > 3000) == (2048, True)
    for ask, name in (
        (Ask(grammar="x"), "grammar"),
        (Ask(samplers="k"), "samplers"),
        (Ask(more={"tools": []}), "tools"),
    ):
        with pytest.raises(BadRequest) as refused:
            _answer(chat, "hi", ask=ask)
        assert (refused.value.message, refused.value.param) == (
            f"{name} is not available with a model in MLX form",
            name,
        )


@pytest.mark.all
def test_a_folder_that_does_not_load_is_said(folder: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(folder, tmp_path / "broken")
    weights = (folder / "model.safetensors").read_bytes()
    (broken / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(ModelUnusable) as caught:
        load(str(broken))
    assert caught.value.message.startswith("broken does not load: ")
    assert str(tmp_path) not in caught.value.message
    mute = shutil.copytree(folder, tmp_path / "mute")
    (mute / "chat_template.jinja").unlink()
    with pytest.raises(ModelUnusable) as caught:
        load(str(mute))
    assert caught.value.message == "mute has no chat template; --chat-template-file gives it one"
    assert load(str(mute), chat=ChatSettings(template="{{ messages }}", context=100)).facts.context == 100


def test_the_package_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "gemma4"}')
    (tmp_path / "model.safetensors").write_bytes(b'\x20\0\0\0\0\0\0\0{"__metadata__":{"format":"mlx"}}')
    monkeypatch.setitem(sys.modules, "mlx", None)
    monkeypatch.delitem(sys.modules, "openproxy.engine.models.chat_mlx", raising=False)
    with pytest.raises(ModelUnusable) as caught:
        load(str(tmp_path))
    assert caught.value.message.startswith("mlx-vlm is not installed (mlx")
    assert caught.value.message.endswith("is missing): pip install 'openproxy-stt[engine,mlx]'")
