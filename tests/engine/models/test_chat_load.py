import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from fakes.chat_server import ChatServer, listed, serving
from fakes.hub import Hub, running
from openproxy.engine.models import Options, Transcriber
from openproxy.engine.models.chat import ChatSettings
from openproxy.engine.models.load import Found, identify, load
from openproxy.errors import ModelUnusable
from openproxy.transcript import Transcript
from support.digits import FOLDER, GGUF, LLAMA_RIGHT, PROJECTOR
from support.recordings import recording


def _heard(model: Transcriber) -> str:
    transcript = list(model.stream(recording(LLAMA_RIGHT[0].samples), Options()))[-1]
    assert isinstance(transcript, Transcript)
    return transcript.text


def _reason(reference: str, chat: ChatSettings | None = None) -> str:
    with pytest.raises(ModelUnusable) as caught:
        load(reference, chat=chat)
    return caught.value.message


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("http://host", Found("a chat server", "url")),
        ("HTTPS://host/v1#model", Found("a chat server", "url")),
        (str(GGUF), Found("a GGUF model", "folder", "gguf")),
        (
            str(FOLDER / "gguf"),
            Found("a folder of GGUF models (digits.gguf, mmproj-digits.gguf)", "folder", "gguf"),
        ),
        (str(FOLDER / "model"), Found("a Hugging Face model of type qwen2_audio", "folder", "transformers")),
    ],
)
def test_a_chat_model_is_known_by_its_files(reference: str, found: Found) -> None:
    assert identify(reference) == found


def test_a_gguf_and_its_projector_are_loaded_from_one_folder() -> None:
    model = load(str(FOLDER / "gguf"))
    assert (model.facts.name, model.facts.kind, model.facts.takes_audio) == ("gguf", "chat", True)
    assert _heard(model) == LLAMA_RIGHT[0].en


def test_a_projector_can_be_named_and_without_one_nothing_is_heard() -> None:
    assert _heard(load(str(GGUF), chat=ChatSettings(projector=PROJECTOR, window=10.0))) == LLAMA_RIGHT[0].en
    assert load(str(GGUF)).facts.takes_audio is False


def test_what_parts_of_a_pair_are_missing_or_too_many_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "pair"
    folder.mkdir()
    shutil.copy(PROJECTOR, folder / "b-mmproj.gguf")
    assert _reason(str(folder)) == "pair holds no GGUF with a language model"
    shutil.copy(GGUF, folder / "m.gguf")
    shutil.copy(PROJECTOR, folder / "a-mmproj.gguf")
    assert _reason(str(folder)) == (
        "pair holds more than one GGUF with an encoder (a-mmproj.gguf, b-mmproj.gguf); choose with --mmproj"
    )
    assert load(str(folder), chat=ChatSettings(projector=folder / "a-mmproj.gguf")).facts.takes_audio is True
    shutil.copy(GGUF, folder / "n.gguf")
    assert _reason(str(folder)) == (
        "pair holds more than one GGUF with a language model (m.gguf, n.gguf); name the file"
    )


def test_a_damaged_gguf_is_said_to_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(GGUF.read_bytes()[:100])
    assert _reason(str(path)) == "cut.gguf is a damaged GGUF file"


def test_a_url_is_a_chat_server() -> None:
    with serving(ChatServer()) as server:
        model = load(f"{server.url}/v1#stub")
        assert (model.facts.name, model.facts.takes_audio) == ("stub", None)
        assert _heard(model) == "hello"
        server.pages["/v1/models"] = (200, listed("a", "b"))
        assert _reason(server.url) == "add #model to the URL of the chat server: it serves a, b"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with the digits model as `a/digits`."""
    files = {path.name: path.read_bytes() for path in (FOLDER / "model").iterdir()}
    hub = Hub({"a/digits": {**files, "README.md": b"", "other.bin": b""}})
    with running(hub):
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}"
        )
        yield hub


@pytest.mark.all
def test_a_repository_of_the_hub_is_fetched_and_loaded(hub: Hub) -> None:
    model = load("hf:a/digits")
    assert (model.facts.name, model.facts.kind, model.facts.takes_audio) == ("hf:a/digits", "chat", True)
    assert _heard(model) == LLAMA_RIGHT[0].en
    assert not any("README" in request or "other.bin" in request for request in map(str, hub.requests))


@pytest.mark.all
def test_a_folder_in_hugging_face_form_is_loaded() -> None:
    model = load(str(FOLDER / "model"))
    assert (model.facts.name, model.facts.context) == ("model", 2048)
    assert _heard(model) == LLAMA_RIGHT[0].en
