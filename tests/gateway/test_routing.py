"""Every row of the worked examples (contracts/gateway.md, section 4), and what lies between them."""

import pytest

from openproxy.errors import BadRequest
from openproxy.gateway.routing import Combo, Route, resolve, transcriber

COMBOS = {"mycombo", "shadowed", "with/slash"}
ALIASES = {
    "fast": "groq/whisper-large-v3-turbo",
    "short": "dg/nova-3",
    "nested": "hf/openai/whisper-small",
    "object": {"provider": "aai", "model": "universal-2"},
    "bare": "whisper-1",
    "again": "fast/x",
    "odd": {"provider": "groq"},
    "shadowed": "groq/whisper-large-v3",
    "with/slash2": "groq/whisper-large-v3",
    "empty": "/x",
    "chained": "openai/fast",
}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai/whisper-1", ("openai", "whisper-1")),
        ("whisper-1", ("openai", "whisper-1")),
        ("whisper-large-v3", ("openai", "whisper-large-v3")),
        ("groq/whisper-large-v3", ("groq", "whisper-large-v3")),
        ("huggingface/openai/whisper-small", ("huggingface", "openai/whisper-small")),
        ("hf/openai/whisper-small", ("huggingface", "openai/whisper-small")),
        ("openai/whisper-small", ("openai", "whisper-small")),
        ("dg/nova-3", ("deepgram", "nova-3")),
        ("deepgram/nova-3", ("deepgram", "nova-3")),
        ("nova-3", ("openai", "nova-3")),
        ("aai/universal-2", ("assemblyai", "universal-2")),
        ("gemini-2.5-flash", ("gemini", "gemini-2.5-flash")),
        ("Gemini-2.5-flash", ("gemini", "Gemini-2.5-flash")),
        ("gpt-4o-transcribe", ("openai", "gpt-4o-transcribe")),
        ("openai/", ("openai", "")),
        ("openai//x", ("openai", "/x")),
        ("huggingface/a//b", ("huggingface", "a//b")),
        ("huggingface/../x", ("huggingface", "../x")),
        # prefixes: bare ones, any case, only at the start
        ("o1anything", ("openai", "o1anything")),
        ("O3-mini", ("openai", "O3-mini")),
        ("my-gemini-2", ("openai", "my-gemini-2")),
        ("geminix", ("openai", "geminix")),
        ("mistral-small", ("openai", "mistral-small")),
        ("command-r", ("openai", "command-r")),
        ("grok-2", ("openai", "grok-2")),
        # aliases
        ("fast", ("groq", "whisper-large-v3-turbo")),
        ("short", ("deepgram", "nova-3")),
        ("nested", ("huggingface", "openai/whisper-small")),
        ("object", ("assemblyai", "universal-2")),
        ("bare", ("openai", "bare")),
        ("again", ("fast", "x")),
        ("odd", ("openai", "odd")),
        ("chained", ("openai", "fast")),
        ("Fast", ("openai", "Fast")),
        ("with/slash", ("with", "slash")),
        ("with/slash2", ("with", "slash2")),
        ("COMBO:x", ("openai", "COMBO:x")),
        ("gc/gemini-2.5-pro", ("gemini-cli", "gemini-2.5-pro")),
        ("cbcn/glm-5.2", ("codebuddy-cn", "glm-5.2")),
    ],
)
def test_a_model_names_a_provider_and_a_model_there(model: str, expected: tuple[str, str]):
    assert resolve(model, COMBOS, ALIASES) == Route(*expected)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("combo:x", "x"),
        ("combo:", ""),
        ("combo:a/b", "a/b"),
        ("combo:openai/whisper-1", "openai/whisper-1"),
        ("mycombo", "mycombo"),
        ("shadowed", "shadowed"),
    ],
)
def test_a_combo_comes_before_everything_else_of_its_name(model: str, name: str):
    found = resolve(model, COMBOS, ALIASES)
    assert found == Combo(name)
    with pytest.raises(BadRequest, match=r"^Combos not supported for audio/transcriptions$"):
        transcriber(found)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("claude-x", "Provider 'anthropic' does not support STT"),
        ("deepseek-x", "Provider 'openrouter' does not support STT"),
        ("nvidia/parakeet", "Provider 'nvidia' does not support STT"),
        ("qwen/x", "Provider 'qwen' does not support STT"),
        ("qw/x", "Provider 'qwen' does not support STT"),
        ("ds/x", "Provider 'deepseek' does not support STT"),
        ("OpenAI/whisper-1", "Provider 'OpenAI' does not support STT"),
        ("gc/gemini-2.5-pro", "Provider 'gemini-cli' does not support STT"),
        ("gweb/x", "Provider 'gemini-web' does not support STT"),
        ("/whisper-1", "Invalid model format"),
        ("/", "Invalid model format"),
        ("empty", "Invalid model format"),
        (" openai/x", "Provider ' openai' does not support STT"),
    ],
)
def test_what_has_no_transcriber_is_refused_by_its_canonical_name(model: str, message: str):
    with pytest.raises(BadRequest) as caught:
        transcriber(resolve(model, COMBOS, ALIASES))
    assert (caught.value.status, caught.value.message) == (400, message)


@pytest.mark.parametrize("provider", ["openai", "groq", "selfhosted-stt"])
def test_three_providers_translate(provider: str):
    assert transcriber(Route(provider, "x"), "translate").id == provider


@pytest.mark.parametrize("provider", ["deepgram", "assemblyai", "huggingface", "gemini"])
def test_the_others_only_transcribe(provider: str):
    assert transcriber(Route(provider, "x")).id == provider
    with pytest.raises(BadRequest, match=rf"^Provider '{provider}' does not support audio/translations$"):
        transcriber(Route(provider, "x"), "translate")
