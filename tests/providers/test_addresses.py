"""Where a request goes, for every spelling of a base address."""

import pytest

from openproxy.errors import BadRequest, UpstreamError
from openproxy.providers import addresses
from openproxy.providers.catalog import PROVIDERS
from support.providers import account


def resolved(provider: str, base_url: str | None) -> str:
    return addresses.resolve(PROVIDERS[provider], account(provider, base_url))


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://h", "http://h/v1/audio/transcriptions"),
        ("http://h/", "http://h/v1/audio/transcriptions"),
        ("http://h//", "http://h/v1/audio/transcriptions"),
        ("http://h/v1", "http://h/v1/audio/transcriptions"),
        ("http://h/v1/", "http://h/v1/audio/transcriptions"),
        ("http://h/openai/v1", "http://h/openai/v1/audio/transcriptions"),
        ("http://h/v1/audio/transcriptions", "http://h/v1/audio/transcriptions"),
        ("http://192.168.1.5:8080/v1/audio/transcriptions/", "http://192.168.1.5:8080/v1/audio/transcriptions"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/audio/transcriptions"),
        ("http://h/v1?api-version=2", "http://h/v1/audio/transcriptions?api-version=2"),
        ("http://h?api-version=2&x=a%2Fb", "http://h/v1/audio/transcriptions?api-version=2&x=a%2Fb"),
        ("https://h:8443/inference", "https://h:8443/inference"),
        ("http://h/v1/audio/transcriptions?a=1#part", "http://h/v1/audio/transcriptions?a=1"),
        ("  http://h/v1  ", "http://h/v1/audio/transcriptions"),
        ("http://h/my%20proxy/v1", "http://h/my%20proxy/v1/audio/transcriptions"),
        ("http://h/größe/v1?q=ü&r=%FC", "http://h/gr%C3%B6%C3%9Fe/v1/audio/transcriptions?q=%C3%BC&r=%FC"),
    ],
)
def test_openai_wire_b16(base_url: str, url: str):
    assert resolved("selfhosted-stt", base_url) == url
    assert resolved("openai", base_url) == url


@pytest.mark.parametrize("provider", list(PROVIDERS))
@pytest.mark.parametrize("base_url", [None, "", "   "])
def test_without_a_base_address_the_provider_has_its_own_t10(provider: str, base_url: str | None):
    assert resolved(provider, base_url) == PROVIDERS[provider].url


def test_selfhosted_is_at_home_by_default_t10():
    assert resolved("selfhosted-stt", None) == "http://localhost:8080/v1/audio/transcriptions"


@pytest.mark.parametrize(
    ("provider", "base_url", "url"),
    [
        ("groq", "http://h", "http://h/openai/v1/audio/transcriptions"),
        ("groq", "http://h/v1", "http://h/v1/audio/transcriptions"),
        ("groq", "http://h/openai/v1/", "http://h/openai/v1/audio/transcriptions"),
        ("deepgram", "https://api.eu.deepgram.com", "https://api.eu.deepgram.com/v1/listen"),
        ("deepgram", "http://h/v1", "http://h/v1/listen"),
        ("deepgram", "http://h/dg/listen?tag=a", "http://h/dg/listen?tag=a"),
        ("assemblyai", "https://api.eu.assemblyai.com", "https://api.eu.assemblyai.com/v2/transcript"),
        ("assemblyai", "http://h/v2", "http://h/v2/transcript"),
        ("huggingface", "http://h", "http://h/hf-inference/models"),
        ("huggingface", "http://h/models/", "http://h/models"),
        ("gemini", "http://h", "http://h/v1beta/models"),
        ("gemini", "http://h/v1beta", "http://h/v1beta/models"),
        ("gemini", "http://h/v1", "http://h/v1/models"),
    ],
)
def test_the_other_wires(provider: str, base_url: str, url: str):
    assert resolved(provider, base_url) == url


@pytest.mark.parametrize(
    "base_url",
    [
        "not a url",
        "h:8080/v1",
        "ftp://h/v1",
        "file:///etc/passwd",
        "http://",
        "http:///v1",
        "http://h:port/v1",
        "http://[::1/v1",
        "http://h/a\r\nb",
        "http://user:secret-password@h/v1",
        "//h/v1",
    ],
)
@pytest.mark.parametrize("provider", list(PROVIDERS))
def test_an_unusable_base_address_is_an_error_and_never_the_cloud(provider: str, base_url: str):
    with pytest.raises(UpstreamError) as raised:
        resolved(provider, base_url)
    assert raised.value.status == 502
    assert raised.value.message.startswith("Request failed: baseUrl ")
    assert base_url not in raised.value.message
    assert "secret-password" not in raised.value.message


@pytest.mark.parametrize(
    ("model", "segments"),
    [
        ("openai/whisper-small", ("openai", "whisper-small")),
        ("gemini-2.5-flash", ("gemini-2.5-flash",)),
        ("x?y#z", ("x?y#z",)),
        ("modèle", ("modèle",)),
    ],
)
def test_model_ids(model: str, segments: tuple[str, ...]):
    assert addresses.model_segments(model) == segments


@pytest.mark.parametrize(
    "model", ["a//b", "../x", "a/../b", "/x", "x/", "", "a/./b", "a\nb", "a\x00", "..", "a..b", "\u202egpj"]
)
def test_model_ids_that_would_change_the_path_h20(model: str):
    with pytest.raises(BadRequest, match=r"^Invalid model ID$"):
        addresses.model_segments(model)


def test_segments_are_encoded_and_the_query_stays_b27():
    url = addresses.below("http://h/base/?a=1", "x?y#z", "é ü", suffix=":generateContent")
    assert url == "http://h/base/x%3Fy%23z/%C3%A9%20%C3%BC:generateContent?a=1"


def test_siblings():
    assert addresses.sibling("http://h/v2/transcript?a=1", "transcript", "upload") == "http://h/v2/upload?a=1"
    assert addresses.sibling("http://h/v2/nottranscript", "transcript", "upload") is None
    assert addresses.sibling("http://h/inference", "transcriptions", "translations") is None
