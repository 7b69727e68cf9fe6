from pathlib import Path

import pytest

from openproxy.cli.model_reference import engine_reference
from openproxy.errors import ModelUnusable


@pytest.mark.parametrize(
    "name",
    [
        "tiny.en",
        "large-v3-turbo",
        "Systran/faster-whisper-small",
        "hf:openai/whisper-tiny",
        "hf:owner/repo",
        "http://127.0.0.1:8081#model",
        "https://host/openai/v1",
        "./openai/model",
        "/models/openai",
        "openai",
    ],
)
def test_what_the_engine_loads(name: str) -> None:
    assert engine_reference(name) == name


@pytest.mark.parametrize("provider", ["openai", "dg", "aai", "hf", "selfhosted-stt"])
def test_a_provider_in_front_needs_the_gateway(provider: str) -> None:
    with pytest.raises(ModelUnusable) as raised:
        engine_reference(f"{provider}/some/model")
    assert raised.value.message == (
        f"{provider}/some/model is the model some/model of the provider {provider}, which needs the gateway's stored "
        f"accounts; the Hugging Face repository of that name is hf:{provider}/some/model"
    )
    assert raised.value.param == "model"


def test_a_path_that_exists_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "openai" / "whisper-tiny").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert engine_reference("openai/whisper-tiny") == "openai/whisper-tiny"
