import pytest

from openproxy.web import responses


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"), (422, "invalid_request_error"), (401, "authentication_error"),
        (403, "authentication_error"), (404, "not_found_error"), (429, "rate_limit_error"), (408, "timeout_error"),
        (504, "timeout_error"), (500, "server_error"), (501, "server_error"), (502, "server_error"), (503, "server_error"),
        (402, "api_error"), (406, "api_error"), (409, "api_error"), (413, "api_error"),
    ],
)  # fmt: skip
def test_the_type_of_an_error_follows_its_status(status: int, kind: str) -> None:
    assert responses.envelope("bad «x»", status, param="language", code="invalid_language") == {
        "error": {"message": "bad «x»", "type": kind, "param": "language", "code": "invalid_language"}
    }


def test_request_ids_are_distinct_and_ascii() -> None:
    ids = {responses.new_request_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(name.startswith("req_") and name.isascii() and len(name) == 36 for name in ids)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("openai/whisper-1", "openai/whisper-1"),
        ('a "b" (c);=,%20', 'a "b" (c);=,%20'),
        ("会议.wav", "%E4%BC%9A%E8%AE%AE.wav"),
        ("a\r\nSet-Cookie: x", "a%0D%0ASet-Cookie: x"),
        ("é\x7f\x00\ud800", "%C3%A9%7F%00?"),
        ("m" * 512, "m" * 512),
        ("m" * 200_000, "m" * 512 + "..."),
        ("é" * 600, "%C3%A9" * 512 + "..."),
    ],
)
def test_header_values_are_printable_ascii(text: str, value: str) -> None:
    assert responses.header_value(text) == value
