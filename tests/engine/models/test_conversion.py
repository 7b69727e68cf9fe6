import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from openproxy.audio import open_audio
from openproxy.engine.models import Options, catalog
from openproxy.engine.models.load import identify, load
from openproxy.errors import ModelUnusable
from openproxy.transcript import Transcript

SPEECH = Path(__file__).parents[2] / "data" / "speech"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny Whisper with random weights in Hugging Face form; the data directory is beside it."""
    import torch
    from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration

    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    folder = tmp_path / "model"
    torch.manual_seed(0)
    config = WhisperConfig(
        vocab_size=51864,
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        decoder_start_token_id=50257,
        pad_token_id=50256,
        bos_token_id=50256,
        eos_token_id=50256,
    )
    WhisperForConditionalGeneration(config).save_pretrained(folder)
    WhisperFeatureExtractor().save_pretrained(folder)
    english = catalog.installed("tiny.en")
    assert english is not None
    shutil.copy(english / "tokenizer.json", folder)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    return folder


@pytest.mark.all
def test_a_hugging_face_folder_is_converted_once(folder: Path, tmp_path: Path) -> None:
    assert identify(str(folder)).kind == "transformers-whisper"
    model = load(str(folder))
    assert model.facts.languages == ("en",)
    (converted,) = (tmp_path / "data" / "models").iterdir()
    assert {path.name for path in converted.iterdir()} == {
        "config.json",
        "model.bin",
        "preprocessor_config.json",
        "tokenizer.json",
        "vocabulary.json",
    }
    with open_audio(SPEECH / "sense0880.wav") as audio:
        *_, transcript = model.stream(audio, Options(max_tokens=5))
    assert isinstance(transcript, Transcript)
    assert transcript.usage is not None
    assert transcript.usage.input_tokens is not None
    assert transcript.usage.input_tokens >= 1501
    written = (converted / "model.bin").stat().st_mtime_ns
    load(str(folder))
    assert (converted / "model.bin").stat().st_mtime_ns == written


@pytest.mark.all
def test_weights_that_do_not_convert(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(ModelUnusable) as caught:
        load(str(folder))
    assert caught.value.message.startswith(f"{folder} cannot be converted: ")
    assert list((tmp_path / "data" / "models").iterdir()) == []


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "whisper"}')
    (tmp_path / "model.safetensors").write_bytes(b"x")
    code = (
        "import importlib.util, sys; real = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'torch' else real(name, *rest)\n"
        "from openproxy.engine.models.conversion import converted; from pathlib import Path\n"
        "try: converted(Path(sys.argv[1]), 'mine')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "DATA_DIR": str(tmp_path / "data")},
    )
    assert result.stdout.startswith(
        "ModelUnusable mine is in Hugging Face form and has to be converted once, which needs torch"
    )
    assert result.stdout.endswith(": pip install 'openproxy-stt[transformers]'\n")


@pytest.mark.all
def test_weights_that_are_not_there_are_not_made_up(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "decoder_layers": 3}))
    with pytest.raises(ModelUnusable, match=r"its weights lack \d+ tensors of its model, model\.decoder\.layers\.2\."):
        load(str(folder))


@pytest.mark.all
def test_code_in_a_folder_is_not_run(folder: Path) -> None:
    (folder / "own.py").write_text(
        "from pathlib import Path\nPath(__file__).with_name('ran').touch()\nclass Own: pass\n"
    )
    told = {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["own.Own", "own.Own"]}}
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    with suppress(ModelUnusable):  # where it does without the code it may be converted
        load(str(folder))
    assert not (folder / "ran").exists()
