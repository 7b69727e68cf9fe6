"""One header for the credential, and no credential in any text."""

import pytest

from openproxy.errors import UpstreamError
from openproxy.providers import addresses, credentials
from openproxy.providers.catalog import PROVIDERS
from openproxy.upload import Connection
from support.providers import SECRET, account


def header(provider: str, base_url: str | None = None, scheme: str | None = None) -> dict[str, str]:
    connection = account(provider, base_url, auth_scheme=scheme)
    entry = PROVIDERS[provider]
    return credentials.header(entry, connection, addresses.resolve(entry, connection))


@pytest.mark.parametrize(
    ("provider", "base_url", "expected"),
    [
        ("openai", None, {"Authorization": f"Bearer {SECRET}"}),
        ("openai", "https://eu.api.openai.com/v1", {"Authorization": f"Bearer {SECRET}"}),
        ("groq", None, {"Authorization": f"Bearer {SECRET}"}),
        ("deepgram", None, {"Authorization": f"Token {SECRET}"}),
        ("deepgram", "http://proxy", {"Authorization": f"Token {SECRET}"}),
        ("assemblyai", None, {"Authorization": SECRET}),
        ("assemblyai", "https://API.eu.assemblyai.com.", {"Authorization": SECRET}),
        ("assemblyai", "http://proxy/v2/transcript", {"Authorization": f"Bearer {SECRET}"}),
        ("assemblyai", "http://api.assemblyai.com.evil.example/", {"Authorization": f"Bearer {SECRET}"}),
        ("huggingface", None, {"Authorization": f"Bearer {SECRET}"}),
        ("gemini", None, {"x-goog-api-key": SECRET}),
        ("gemini", "https://generativelanguage.googleapis.com/v1beta", {"x-goog-api-key": SECRET}),
        ("gemini", "http://proxy", {"Authorization": f"Key {SECRET}"}),
        ("selfhosted-stt", None, {"Authorization": f"Bearer {SECRET}"}),
    ],
)
def test_the_scheme_follows_the_host_decision_10(provider: str, base_url: str | None, expected: dict[str, str]):
    assert header(provider, base_url) == expected


@pytest.mark.parametrize("provider", list(PROVIDERS))
@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ("bearer", {"Authorization": f"Bearer {SECRET}"}),
        ("token", {"Authorization": f"Token {SECRET}"}),
        ("key", {"Authorization": f"Key {SECRET}"}),
        ("bare", {"Authorization": SECRET}),
        ("x-goog-api-key", {"x-goog-api-key": SECRET}),
        ("X-API-Key", {"x-api-key": SECRET}),
    ],
)
def test_a_connection_can_name_its_scheme(provider: str, scheme: str, expected: dict[str, str]):
    assert header(provider, None, scheme) == expected
    assert header(provider, "http://proxy/v2/transcript", scheme) == expected


def test_an_unknown_scheme_is_named_by_what_is_allowed():
    with pytest.raises(UpstreamError) as raised:
        header("openai", None, "basic")
    assert raised.value.status == 502
    assert raised.value.message == (
        "Request failed: authScheme must be one of bearer, token, key, bare, x-goog-api-key, x-api-key"
    )


@pytest.mark.parametrize("secret", ["", "   ", "abc\r\nX-Injected: 1", "abc\x00def"])
def test_a_secret_that_cannot_be_sent_is_a_401(secret: str):
    connection = Connection("c1", "groq", secret)
    with pytest.raises(UpstreamError) as raised:
        credentials.header(PROVIDERS["groq"], connection, "http://h")
    assert raised.value.status == 401
    assert raised.value.message == "No credentials for STT provider: groq"


@pytest.mark.parametrize(
    ("secret", "text", "expected"),
    [
        (SECRET, f"API key not valid. Key: {SECRET}", "API key not valid. Key: [redacted]"),
        ("a/b+c d=0123", "?key=a%2Fb%2Bc%20d%3D0123&x", "?key=[redacted]&x"),
        ("local", "local key at localhost", "[redacted] key at localhost"),
        (SECRET, "nothing to hide", "nothing to hide"),
    ],
)
def test_secrets_are_taken_out_of_texts_b17(secret: str, text: str, expected: str):
    assert credentials.redacted(text, Connection("c1", "gemini", secret)) == expected


@pytest.mark.parametrize("size", [1, 2, 7, 40, 1000])
@pytest.mark.parametrize(
    ("secret", "text", "expected"),
    [
        (SECRET, f'{{"text":"{SECRET}"}} {SECRET}{SECRET}', '{"text":"[redacted]"} [redacted][redacted]'),
        (SECRET, f"{SECRET[:-1]} and {SECRET[:5]}", f"{SECRET[:-1]} and {SECRET[:5]}"),
        ("sk-aaaa0aaaa0aaaa0b", "sk-sk-aaaa0aaaa0aaaa0b sk-", "sk-[redacted] sk-"),
        ("a/b+c d=0123456789", "?key=a%2Fb%2Bc%20d%3D0123456789", "?key=[redacted]"),
        ("transcribe", '{"task":"transcribe"}', '{"task":"transcribe"}'),
        ("we-the-people-of-these-states", "we-the-people-of-these-states", "we-the-people-of-these-states"),
    ],
)
def test_a_secret_is_taken_out_of_an_answer_however_it_is_cut_b17(size: int, secret: str, text: str, expected: str):
    redactor = credentials.Redactor(Connection("c1", "openai", secret))
    pieces = [redactor.feed(text[at : at + size].encode()) for at in range(0, len(text), size)]
    assert b"".join([*pieces, redactor.finish()]).decode() == expected


def test_an_answer_without_the_secret_waits_for_nothing():
    redactor = credentials.Redactor(Connection("c1", "openai", SECRET))
    events = [b'data: {"type":"transcript.text.delta","delta":"a"}\n\n', b"data: [DONE]\n\n"]
    assert [redactor.feed(event) for event in events] == events


def test_what_the_query_of_a_base_address_carries_is_taken_out_too():
    connection = Connection("c1", "selfhosted-stt", SECRET, "http://h/v1?sig=0123456789&v=2")
    assert credentials.redacted("no route /v1?sig=0123456789&v=2", connection) == "no route /v1?sig=[redacted]&v=2"


def test_a_connection_shows_neither_secret_nor_address():
    shown = repr(Connection("c1", "openai", SECRET, "http://h/?key=0123456789", None, {"token": "abcdefgh"}))
    assert shown == "Connection(id='c1', provider='openai', auth_scheme=None)"
