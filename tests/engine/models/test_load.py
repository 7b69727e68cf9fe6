import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from fakes.hub import Hub, running
from openproxy.audio import open_audio
from openproxy.engine.models import Options, catalog
from openproxy.engine.models.catalog import Bundle, Entry
from openproxy.engine.models.load import Found, identify, load
from openproxy.errors import BadRequest, ModelUnusable
from openproxy.transcript import Transcript

SPEECH = Path(__file__).parents[2] / "data" / "speech"
MISSING = Entry("a/b", Bundle("base", (("no_such_package_here", "data"),), "0", 1))


@pytest.fixture(scope="module")
def weights() -> Path:
    folder = catalog.installed("tiny.en")
    assert folder is not None
    return folder


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """An empty hub that is asked instead of the usual one."""
    hub = Hub({})
    with running(hub):
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}"
        )
        yield hub


def _heard(reference: str) -> str:
    with open_audio(SPEECH / "jfk.wav") as audio:
        *_, last = load(reference).stream(audio, Options())
    assert isinstance(last, Transcript)
    return last.text


def _reason(reference: str) -> str:
    with pytest.raises(ModelUnusable) as caught:
        load(reference)
    return caught.value.message


def test_a_size_name_is_found_as_a_package() -> None:
    assert identify("tiny.en") == Found(
        "a Whisper model that pip installed", "package", "ctranslate2-whisper", "Systran/faster-whisper-tiny.en"
    )


def test_a_size_name_without_a_package_is_on_the_hub() -> None:
    assert identify("small") == Found(
        "a Whisper model of the hub (Systran/faster-whisper-small)", "hub", None, "Systran/faster-whisper-small"
    )


@pytest.mark.parametrize("reference", ["owner/some-model", "hf:owner/some-model"])
def test_a_repository_id(reference: str) -> None:
    assert identify(reference) == Found("a repository of the model hub", "hub", None, "owner/some-model")


def test_a_folder_wins_over_a_repository_of_that_name(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "owner").mkdir()
    (tmp_path / "owner" / "model").symlink_to(weights)
    monkeypatch.chdir(tmp_path)
    assert identify("owner/model") == Found("a Whisper model in CTranslate2 form", "folder", "ctranslate2-whisper")
    assert identify("hf:owner/model").source == "hub"


def test_a_folder_without_a_model_does_not_hide_a_size_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "base").mkdir()
    monkeypatch.chdir(tmp_path)
    assert identify("base").source == "package"


@pytest.mark.parametrize("reference", ["nothing", "", "hf:", "hf:tiny.en", "a/b/c", "/no/such/folder", "tiny-en"])
def test_a_reference_that_fits_nothing(reference: str) -> None:
    assert _reason(reference).startswith(
        f"there is no model {reference!r}: it is no file or folder here, no repository id (owner/name) and no size "
        "name; the size names are tiny.en, tiny, base.en, base, "
    )


def test_a_folder_is_loaded(weights: Path) -> None:
    assert "ask what you can do for your country" in _heard(str(weights))


def test_what_a_model_cannot_do_is_said_without_its_path(weights: Path) -> None:
    with open_audio(SPEECH / "jfk.wav") as audio, pytest.raises(BadRequest) as caught:
        list(load(str(weights)).stream(audio, Options(translate=True)))
    assert caught.value.message.startswith(f"{weights.name} knows only English and cannot translate; ")


def test_what_a_file_is_instead_is_said(tmp_path: Path) -> None:
    path = tmp_path / "whisper.bin"
    path.write_bytes(b"GGML\x03\0\0\0")
    assert _reason(str(path)) == (
        f"{path} is a file of another kind (it begins with 47 47 4d 4c 03 00 00 00); what runs here is a Whisper model "
        "in CTranslate2, Hugging Face or MLX form, or a chat model in GGUF, Hugging Face or MLX form"
    )


def test_damaged_weights_are_said_to_be_damaged(weights: Path, tmp_path: Path) -> None:
    shutil.copytree(weights, tmp_path / "model")
    with (tmp_path / "model" / "model.bin").open("r+b") as file:
        file.truncate(1_000_000)
    assert _reason(str(tmp_path / "model")).startswith(f"{tmp_path / 'model'} does not load: ")


def test_a_repository_is_downloaded_once(weights: Path, hub: Hub) -> None:
    hub.repos = {"a/b": {path.name: path.read_bytes() for path in weights.iterdir() if path.is_file()}}
    told: list[tuple[int, int]] = []
    assert load("a/b", progress=lambda *both: told.append(both)).facts.name == "a/b"
    assert told[-1][0] == told[-1][1] > 75_000_000
    asked = len(hub.requests)
    assert "ask what you can do for your country" in _heard("hf:a/b")
    assert len(hub.requests) == asked


def test_a_repository_without_a_model_that_runs_here(hub: Hub) -> None:
    hub.repos = {"a/b": {"README.md": b"", "model.Q4.gguf": b"GGUF"}, "a/c": {}}
    assert _reason("a/b") == (
        "a/b holds no model in CTranslate2 or Hugging Face form; it holds README.md, model.Q4.gguf"
    )
    assert _reason("a/c") == "a/c holds no model in CTranslate2 or Hugging Face form; it holds nothing"


def test_a_repository_of_another_kind_is_told_by_its_files(hub: Hub) -> None:
    hub.repos = {"a/b": {"config.json": b"{}", "model.bin": b"\6\0\0\0\x10\0TransformerSpec\0"}}
    assert _reason("a/b") == (
        "a/b is a CTranslate2 model, but not a Whisper (TransformerSpec); what runs here is a Whisper model in "
        "CTranslate2, Hugging Face or MLX form, or a chat model in GGUF, Hugging Face or MLX form"
    )


def test_a_missing_package_is_named_where_the_hub_does_not_help(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catalog.ENTRIES, "base", MISSING)
    hub.broken = True
    assert _reason("base") == (
        f"the model hub {hub.url} answered 500 when asked for a/b; base comes without a hub: "
        "pip install 'openproxy-stt[base]'"
    )
    assert _reason("small") == (
        f"the model hub {hub.url} answered 500 when asked for Systran/faster-whisper-small; tiny.en and base come "
        "without a hub: pip install 'openproxy-stt[engine,base]'"
    )


def test_identifying_imports_nothing_heavy() -> None:
    code = (
        "import sys; from openproxy.engine.models.load import identify; identify('tiny.en'); identify('.');"
        "print(sorted({'numpy', 'av', 'ctranslate2', 'faster_whisper', 'huggingface_hub'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


@pytest.mark.parametrize(
    ("package", "reference"),
    [
        ("faster_whisper", "tiny.en"),
        ("av", "tiny.en"),
        ("av", "http://127.0.0.1:9"),
        ("numpy", str(Path(__file__).parents[2] / "data" / "models" / "digits" / "gguf")),
    ],
)
def test_the_extra_is_named_where_the_engine_is_missing(package: str, reference: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None; from openproxy.engine.models.load import load\n"
        f"try: load({reference!r})\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == (
        f"ModelUnusable the local engine is not installed ({package} is missing): pip install 'openproxy-stt[engine]'\n"
    )
