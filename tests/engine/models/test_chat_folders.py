"""Folders and requests that are up to no good, with models in Hugging Face and in MLX form. Needs torch and MLX."""

import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openproxy.engine.models.chat import Ask, AudioChat, Clip, Delta, Finish, Message, Waiting
from openproxy.engine.models.chat_transcriber import ChatTranscriber
from openproxy.engine.models.load import load
from openproxy.errors import BadRequest, ModelUnusable, OpenProxyError

pytestmark = pytest.mark.all

MAKER = Path(__file__).parents[2] / "support" / "make_chat_models.py"
CLIP = Clip(np.random.default_rng(7).normal(0, 0.1, 16_000).astype(np.float32))
FORMS = ("qwen2_audio", "gemma")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support.make_mlx_chat import write

    folder = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, str(MAKER), str(folder)], check=True, capture_output=True)
    write(folder / "gemma")
    return folder


@pytest.fixture(scope="module")
def chats(made: Path) -> dict[str, AudioChat]:
    return {form: chat_of(made / form) for form in FORMS}


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Copies a folder, to be spoilt."""
    return lambda name: Path(shutil.copytree(made / name, tmp_path / "spoilt"))


def chat_of(folder: Path) -> AudioChat:
    model = load(str(folder))
    assert isinstance(model, ChatTranscriber)
    return model.chat


def answer(chat: AudioChat, *parts: str | Clip, **ask: Any) -> tuple[str, Finish]:
    asked = Ask(**{"temperature": 0.0, "max_tokens": 6, **ask})
    steps = [step for step in chat.stream([Message("user", parts)], asked) if not isinstance(step, Waiting)]
    end = steps.pop()
    assert isinstance(end, Finish)
    return "".join(step.text for step in steps if isinstance(step, Delta)), end


def spoil(file: Path, **more: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **more}))


# Requests


@pytest.mark.parametrize(
    "more",
    [
        {"images": ["http://127.0.0.1:9/a.png"]},
        {"videos": ["a.mp4"]},
        {"sampling_rate": 8000},
        {"audio_kwargs": 3},
        {"load_audio_from_video": True},
        {"text": "other"},
    ],
    ids=lambda more: next(iter(more)),
)
def test_variables_of_a_template_reach_nothing_else(chats: dict[str, AudioChat], form: str, more: Any) -> None:
    plain = answer(chats[form], "say", CLIP)
    assert answer(chats[form], "say", CLIP, more={"chat_template_kwargs": more}) == plain


@pytest.mark.parametrize("name", ["tokenize", "chat_template", "conversation", "messages", "max_length"])
def test_how_a_template_is_applied_is_not_for_the_request(chats: dict[str, AudioChat], form: str, name: str) -> None:
    with pytest.raises(BadRequest, match=f"^'{name}' is not for the request to set$") as caught:
        answer(chats[form], "say", more={"chat_template_kwargs": {name: "x"}})
    assert caught.value.param == "chat_template_kwargs"


def test_a_place_for_a_recording_without_one_is_refused(chats: dict[str, AudioChat]) -> None:
    for parts in (("<|AUDIO|>",), ("<|AUDIO|>", CLIP)):
        with pytest.raises(BadRequest, match="do not fit the model's chat template"):
            answer(chats["qwen2_audio"], *parts)


@pytest.mark.parametrize("samples", [2, 3, 400])
def test_clips_too_short_for_an_encoder_are_heard(chats: dict[str, AudioChat], form: str, samples: int) -> None:
    _, end = answer(chats[form], Clip(np.full(samples, 0.1, np.float32)))
    assert end.usage.audio_tokens is not None
    assert end.usage.audio_tokens > 0


def test_any_number_of_tokens_may_be_chosen_from(chats: dict[str, AudioChat], form: str) -> None:
    everything = answer(chats[form], "say", temperature=1.0, seed=5, top_k=0)
    for top_k in (-1, -(2**31), 10**9):
        assert answer(chats[form], "say", temperature=1.0, seed=5, top_k=top_k) == everything


def test_a_seed_may_be_negative(chats: dict[str, AudioChat], form: str) -> None:
    once, again = (answer(chats[form], "say", temperature=1.0, seed=-1, max_tokens=12) for _ in range(2))
    assert once == again


# Folders


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ 1 / 0 }}", "division by zero"),
        ("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "recursion depth"),
        ("{{ messages[5]['x'].y }}", "no element 5"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{% for %}", "Expected an expression"),
        ("{{ '' }}", "makes nothing of the messages"),
    ],
)
def test_what_a_template_raises_is_said(copied: Any, form: str, template: str, message: str) -> None:
    folder = copied(form)
    (folder / "chat_template.jinja").write_text(template)
    with pytest.raises(BadRequest, match=message):
        answer(chat_of(folder), "say")


def test_a_template_without_a_place_for_a_recording_loses_none(copied: Any, form: str) -> None:
    folder = copied(form)
    (folder / "chat_template.jinja").write_text("hello")
    with pytest.raises(BadRequest, match="chat template"):
        answer(chat_of(folder), "say", CLIP)


CODE = "from pathlib import Path\nPath(__file__).with_name('ran').touch()\nclass Own: pass\n"


@pytest.mark.parametrize("file", ["config.json", "processor_config.json", "tokenizer_config.json"])
def test_code_in_a_folder_is_not_run(copied: Any, form: str, file: str) -> None:
    folder = copied(form)
    (folder / "own.py").write_text(CODE)
    names = ("AutoConfig", "AutoModel", "AutoModelForCausalLM", "AutoProcessor", "AutoFeatureExtractor")
    unknown = {"processor_class": "OwnProcessor", "tokenizer_class": "OwnTokenizer", "model_type": "own"}
    spoil(folder / file, auto_map=dict.fromkeys(names, "own.Own") | {"AutoTokenizer": ["own.Own"] * 2}, **unknown)
    with suppress(ModelUnusable):  # where it does without the code it may load
        load(str(folder))
    assert not (folder / "ran").exists()


def test_a_model_that_is_code_is_not_run(copied: Any) -> None:
    folder = copied("gemma")
    (folder / "own.py").write_text(CODE)
    spoil(folder / "config.json", model_file="own.py")
    with pytest.raises(ModelUnusable, match=r"needs its own code \(own\.py\)"):
        load(str(folder))
    assert not (folder / "ran").exists()


def test_what_trusts_a_folder_while_mlx_loads_runs_no_code(copied: Any) -> None:
    from transformers import AutoTokenizer

    from openproxy.engine.models.chat_mlx import without_code

    folder = copied("gemma")
    (folder / "own.py").write_text(CODE)
    spoil(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["own.Own"] * 2}, tokenizer_class="Own")
    with without_code(), pytest.raises(ModelUnusable, match="needs its own code"):
        AutoTokenizer.from_pretrained(folder, trust_remote_code=True)


class _Opened:
    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


def test_a_pickle_is_not_opened(copied: Any) -> None:
    folder = copied("qwen2_audio")
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(_Opened(folder / "ran")))
    with pytest.raises(ModelUnusable, match="a pickle that is damaged or holds more than tensors"):
        load(str(folder))
    assert not (folder / "ran").exists()


def test_weights_that_are_not_there_are_not_made_up(copied: Any) -> None:
    folder = copied("qwen2_audio")
    config = json.loads((folder / "config.json").read_text())["text_config"]
    config |= {"num_hidden_layers": 3, "layer_types": ["full_attention"] * 3}
    spoil(folder / "config.json", text_config=config)
    with pytest.raises(ModelUnusable, match=r"its weights lack \d+ tensors of its model, \S*layers\.2\."):
        load(str(folder))


def test_how_to_generate_is_not_for_the_folder(copied: Any, chats: dict[str, AudioChat]) -> None:
    folder = copied("qwen2_audio")
    spoil(
        folder / "generation_config.json",
        num_return_sequences=3,
        num_beams=4,
        max_time=1e-6,
        stop_strings=["a"],
        prompt_lookup_num_tokens=3,
        cache_implementation="quantized",
    )
    assert answer(chat_of(folder), "say", CLIP) == answer(chats["qwen2_audio"], "say", CLIP)


def test_an_end_that_is_no_token_is_said(copied: Any) -> None:
    folder = copied("qwen2_audio")
    spoil(folder / "generation_config.json", eos_token_id="end")
    with pytest.raises(ModelUnusable, match="eos_token_id"):
        load(str(folder))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_scores_that_are_no_numbers_end_the_answer(copied: Any, form: str, temperature: float) -> None:
    from safetensors.numpy import load_file, save_file

    folder = copied(form)
    weights = load_file(folder / "model.safetensors")
    (name,) = (
        name for name in weights if name.endswith("language_model.model.norm.weight") or name == "lm_head.weight"
    )
    spoilt = {**weights, name: np.full_like(weights[name], np.nan)}
    save_file(spoilt, folder / "model.safetensors", {"format": "mlx" if form == "gemma" else "pt"})
    with pytest.raises(OpenProxyError, match="computes NaN"):
        answer(chat_of(folder), "say", temperature=temperature)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_folder_in_place_of_a_file_is_said(copied: Any, name: str) -> None:
    folder = copied("qwen2_audio")
    (folder / name).unlink()
    (folder / name).mkdir()
    with pytest.raises(ModelUnusable, match=r"cannot be read|not a JSON object"):
        load(str(folder))
