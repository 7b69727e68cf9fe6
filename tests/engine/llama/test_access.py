import pytest

from openproxy.engine.llama.access import Cors, authorised, path_of

KEYS = ("sk-one", "sk-two")


@pytest.mark.parametrize(
    ("authorization", "x_api_key", "let_in"),
    [
        (None, None, False), ("Bearer nope", None, False), ("Bearer sk-one", None, True), ("Bearer sk-two", None, True),
        ("sk-one", None, True), ("bearer sk-one", None, False), (None, "sk-one", True), (None, "Bearer sk-one", True),
        (None, "nope", False), ("Bearer nope", "sk-one", False), ("", "sk-one", True), ("Bearer sk-one ", None, True),
        ("Bearer  sk-one", None, False), ("Basic c2stb25l", None, False), ("Bearer sk-on", None, False),
        ("Bearer sk-one,sk-two", None, False), ("Bearer Bearer sk-one", None, False), ("Bearer ", None, False),
        ("Bearer schl\u00fcssel", None, False), ("", "", False),
    ],
)  # fmt: skip
def test_keys(authorization: str | None, x_api_key: str | None, let_in: bool) -> None:
    assert authorised(KEYS, authorization, x_api_key) is let_in
    assert authorised((), authorization, x_api_key) is True


@pytest.mark.parametrize("key", ["schl\u00fcssel", "\u043a\u043b\u044e\u0447-\U0001f511", "two words", "Bearer x"])
def test_keys_of_any_text(key: str) -> None:
    sent = key.encode().decode("latin-1")
    assert authorised((*KEYS, key), f"Bearer {sent}", None)
    assert authorised((*KEYS, key), None, f"Bearer {sent}")
    assert not authorised(KEYS, f"Bearer {sent}", None)
    assert not authorised((key,), f"Bearer {sent}\u0100", None)


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/v1/audio/transcriptions", "/v1/audio/transcriptions"),
        ("/v1/audio%2Ftranscriptions", "/v1/audio/transcriptions"),
        ("/v1/audio/%74ranscriptions", "/v1/audio/transcriptions"),
        ("/v1/audio/transcriptions?response_format=text", "/v1/audio/transcriptions"),
        ("/v1/audio/transcriptions#x", "/v1/audio/transcriptions"),
        ("/v1/audio/transcriptions/", "/v1/audio/transcriptions/"),
        ("//v1/audio/transcriptions", "//v1/audio/transcriptions"),
        ("/V1/Audio/Transcriptions", "/V1/Audio/Transcriptions"),
        ("/%ff%zz", "/\ufffd%zz"),
    ],
)
def test_paths_are_decoded_and_nothing_else(target: str, path: str) -> None:
    assert path_of(target) == path
    assert path_of(target.encode()) == path


def test_only_paths_below_the_prefix_exist() -> None:
    assert path_of("/base/v1/audio/transcriptions", "/base") == "/v1/audio/transcriptions"
    assert path_of("/v1/audio/transcriptions", "/base") is None
    assert path_of("/baseball", "/base") == "ball"


def test_cors() -> None:
    name = "Access-Control-Allow-Origin"
    assert Cors().headers("https://a.example") == [(name, "https://a.example")]
    assert Cors().headers(None) == [(name, "")]
    assert Cors().headers("https://a.example\r\nX: y") == [(name, "")]
    fixed = Cors("https://app.example", credentials=False)
    assert fixed.headers("https://a.example") == [(name, "https://app.example")]
    assert fixed.preflight_headers(None) == [
        (name, "https://app.example"),
        ("Access-Control-Allow-Credentials", "false"),
        ("Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"),
        ("Access-Control-Allow-Headers", "*"),
    ]
