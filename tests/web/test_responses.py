import pytest

from openproxy.errors import BadRequest, Busy, OpenProxyError, TimedOut, Unauthorized, UploadTooLarge
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
    assert responses.error_type(status) == kind


@pytest.mark.parametrize(
    ("error", "status", "body", "retry_after"),
    [
        (BadRequest("bad «x»", param="language", code="invalid_language"), 400,
         '{"error":{"message":"bad «x»","type":"invalid_request_error","param":"language","code":"invalid_language"}}', None),
        (Unauthorized("Missing API key"), 401,
         '{"error":{"message":"Missing API key","type":"authentication_error","param":null,"code":"invalid_api_key"}}', None),
        (UploadTooLarge("Body too large"), 413,
         '{"error":{"message":"Body too large","type":"api_error","param":null,"code":"upload_too_large"}}', None),
        (Busy("full", retry_after=3), 503,
         '{"error":{"message":"full","type":"server_error","param":null,"code":"busy"}}', "3"),
        (TimedOut("late"), 504,
         '{"error":{"message":"late","type":"timeout_error","param":null,"code":"timeout"}}', None),
    ],
)  # fmt: skip
def test_errors(error: OpenProxyError, status: int, body: str, retry_after: str | None) -> None:
    response = responses.error_response(error, {"x-request-id": "req_1"})
    assert (response.status_code, bytes(response.body).decode()) == (status, body)
    assert response.headers.get("retry-after") == retry_after
    assert response.headers["content-type"] == "application/json"
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["x-request-id"] == "req_1"


def test_preflight() -> None:
    response = responses.preflight_response()
    assert (response.status_code, bytes(response.body)) == (200, b"")
    assert dict(response.headers) == {
        "access-control-allow-origin": "*",
        "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
        "access-control-allow-headers": "Content-Type, Authorization, X-Requested-With, x-api-key, x-goog-api-key, x-9r-cli-token",
        "access-control-max-age": "86400",
        "content-length": "0",
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
    ],
)
def test_header_values_are_printable_ascii(text: str, value: str) -> None:
    assert responses.header_value(text) == value
