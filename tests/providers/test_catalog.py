"""The catalogue, and the names that stand for a provider."""

import re

import pytest

from openproxy import formats, providers
from openproxy.providers.aliases import ALIASES, canonical
from openproxy.providers.catalog import PROVIDERS

SEVEN = ["openai", "groq", "deepgram", "assemblyai", "huggingface", "gemini", "selfhosted-stt"]


def test_the_seven_are_there_t1():
    assert list(PROVIDERS) == SEVEN
    for provider_id in SEVEN:
        provider = providers.get(provider_id)
        assert provider is not None
        assert provider.entry.id == provider_id


@pytest.mark.parametrize("name", ["anthropic", "nonexistent", "nvidia", "qwen", "OpenAI", ""])
def test_nothing_else_has_speech_to_text_t2(name: str):
    assert providers.get(name) is None


def test_the_specifications_models_come_first():
    """contracts/gateway.md, section 1.6."""
    expected = {
        "openai": ["whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"],
        "groq": ["whisper-large-v3", "whisper-large-v3-turbo", "distil-whisper-large-v3-en"],
        "deepgram": ["nova-3", "nova-2", "whisper-large"],
        "assemblyai": ["universal-3-pro", "universal-2"],
        "huggingface": ["openai/whisper-large-v3", "openai/whisper-small"],
        "gemini": ["gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite", "gemini-2.0-flash"],
        "selfhosted-stt": [],
    }
    for provider_id, models in expected.items():
        assert [model.id for model in PROVIDERS[provider_id].models][: len(models)] == models


def test_every_model_is_told_in_full():
    for entry in PROVIDERS.values():
        assert len({model.id for model in entry.models}) == len(entry.models)
        for model in entry.models:
            assert model.kind == "stt"
            assert set(model.formats) <= set(formats.NAMES)
            assert "json" in model.formats
            assert model.shutdown_date is None or re.fullmatch(r"20\d\d-\d\d-\d\d", model.shutdown_date)


def test_announced_ends():
    ends = {
        f"{entry.id}/{model.id}": model.shutdown_date
        for entry in PROVIDERS.values()
        for model in entry.models
        if model.shutdown_date
    }
    assert ends == {
        "openai/whisper-1": "2027-02-26",
        "openai/gpt-4o-transcribe": "2027-02-26",
        "openai/gpt-4o-mini-transcribe": "2027-02-26",
        "openai/gpt-4o-transcribe-diarize": "2027-02-26",
        "gemini/gemini-2.5-pro": "2026-12-01",
        "gemini/gemini-2.5-flash": "2026-12-01",
        "gemini/gemini-2.0-flash": "2026-06-01",
    }


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("hf", "huggingface"),
        ("dg", "deepgram"),
        ("aai", "assemblyai"),
        ("cbcn", "codebuddy-cn"),
        ("kgw", "kilo-gateway"),
        ("qw", "qwen"),
        ("ds", "deepseek"),
        ("gc", "gemini-cli"),
        ("gweb", "gemini-web"),
        ("samba", "sambanova"),
        ("openai", "openai"),
        ("selfhosted-stt", "selfhosted-stt"),
        ("nvidia", "nvidia"),
        ("DG", "DG"),
        ("", ""),
    ],
)
def test_aliases_t13(name: str, provider: str):
    assert canonical(name) == provider


def test_no_alias_hides_one_of_the_seven():
    assert not set(ALIASES) & set(SEVEN)
