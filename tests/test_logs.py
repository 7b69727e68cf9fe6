import io
import logging
from collections.abc import Iterator

import pytest

from openproxy import logs


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    logs.setup("info", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)


KEY = "sk-proj-abcDEF123456_7890"


@pytest.mark.parametrize(
    ("line", "redacted"),
    [
        (f"key {KEY} refused", "key [redacted] refused"),
        ("op-0123456789abcdef0123", "[redacted]"),
        ("gsk_abcdefghijkl1234", "[redacted]"),
        ("hf_AbCdEfGhIjKlMnOp", "[redacted]"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstu", "[redacted]"),
        ("Authorization: Bearer abc", "Authorization: Bearer [redacted]"),
        ("authorization: token 12ab", "authorization: token [redacted]"),
        ("Authorization: Key k", "Authorization: Key [redacted]"),
        ("Authorization: plain-value", "Authorization: [redacted]"),
        ("{'Authorization': 'Token s3cret'}", "{'Authorization': 'Token [redacted]'}"),
        ("(b'authorization', b'Bearer s3cret')", "(b'authorization', b'Bearer [redacted]')"),
        ("sent Bearer abcdef123", "sent Bearer [redacted]"),
        ("Token 0123456789abcdef0123", "Token [redacted]"),
        ("x-api-key: 12345", "x-api-key: [redacted]"),
        ('{"apiKey": "abc", "password":"d"}', '{"apiKey": "[redacted]", "password":"[redacted]"}'),
        ("GET https://h/v1/models?key=abc&alt=json", "GET https://h/v1/models?key=[redacted]&alt=json"),
        ("wss://h/listen?a=1&access_token=x.y", "wss://h/listen?a=1&access_token=[redacted]"),
        ("https://user:pa55@host/x", "https://[redacted]@host/x"),
    ],
)
def test_secrets_are_taken_out(line: str, redacted: str) -> None:
    assert logs.redact(line) == redacted


@pytest.mark.parametrize(
    "line",
    [
        "the token limit is reached after 448 tokens",
        "key frames are ignored",
        "a bearer of news",
        "task-12 waits, desk-top is ready",
        "GET /v1/models?page=2&sort=key HTTP/1.1",
        "http://127.0.0.1:8080/v1/audio/transcriptions",
        "Authentication is off: no keys are set",
    ],
)
def test_ordinary_lines_stay(line: str) -> None:
    assert logs.redact(line) == line


def test_arguments_and_tracebacks_are_redacted(stream: io.StringIO) -> None:
    log = logging.getLogger("openproxy.somewhere")
    log.info("Authorization: Bearer %s", "abcdef")
    try:
        int(KEY)
    except ValueError:
        log.exception("upstream")
    text = stream.getvalue()
    assert "INFO openproxy.somewhere: Authorization: Bearer [redacted]\n" in text
    assert "ValueError: invalid literal for int() with base 10: '[redacted]'" in text
    assert KEY not in text
    assert "abcdef" not in text


def test_registered_secrets_are_redacted_plain_and_in_urls(stream: io.StringIO) -> None:
    logs.register_secret("tr1cky value/1")
    logging.getLogger("any.library").warning("got tr1cky value/1 and %s", "tr1cky%20value%2F1")
    assert stream.getvalue().endswith("any.library: got [redacted] and [redacted]\n")


def test_short_registered_values_do_not_eat_the_text() -> None:
    logs.register_secret("a")
    assert logs.redact("a banana") == "a banana"


def test_odd_characters_do_not_break_logging(stream: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    logs.setup("info", stream)  # alone: pytest's own handlers would hand the lone surrogate on to its report
    logging.getLogger("x").info("spotkanie_zażółć_会议_🎧.wav and %s", "broken\udcff.wav")
    assert stream.getvalue().endswith("x: spotkanie_zażółć_会议_🎧.wav and broken\\udcff.wav\n")
    assert capsys.readouterr().err == ""


def test_the_values_of_statements_are_not_written_down(stream: io.StringIO) -> None:
    logs.setup("debug", stream)
    logging.getLogger("aiosqlite").debug("executing INSERT ... ('sealed')")
    logging.getLogger("other").debug("heard")
    assert stream.getvalue().endswith("other: heard\n")
    assert "sealed" not in stream.getvalue()


def test_level_and_single_handler(stream: io.StringIO) -> None:
    logs.setup("warning", stream)
    logging.getLogger("y").info("quiet")
    logging.getLogger("y").warning("heard")
    assert stream.getvalue().count("\n") == 1
    assert len(logging.getLogger().handlers) == 1
