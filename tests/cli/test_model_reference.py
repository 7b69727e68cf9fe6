from pathlib import Path

import pytest

from openproxy.cli.model_reference import is_provider_model


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
    assert not is_provider_model(name)


@pytest.mark.parametrize("provider", ["openai", "dg", "aai", "hf", "selfhosted-stt"])
def test_a_provider_in_front_is_the_gateways(provider: str) -> None:
    assert is_provider_model(f"{provider}/some/model")


def test_a_path_that_exists_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "openai" / "whisper-tiny").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert not is_provider_model("openai/whisper-tiny")
