"""What an error answer of an upstream is told as: its message, status, type, and when to come back."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from aiohttp import web

from fakes import raw
from fakes.loopback import serve
from fakes.recorder import recorder
from support.faults import ALL, QUICK, fault
from support.providers import SECRET


@ALL
async def test_an_html_error_becomes_its_title(provider: str):
    page = b"<!DOCTYPE html><html><head><title>502 Bad\n Gateway &amp; co</title></head><body>nginx</body></html>"
    async with recorder((502, page), content_type="text/html") as upstream:
        error = await fault(provider, upstream.url)
    assert (error.status, error.message) == (502, "502 Bad Gateway & co")


@pytest.mark.parametrize(
    ("status", "content_type", "body", "message"),
    [
        (401, "application/json", {"error": {"message": "Invalid API key", "code": "x"}}, "Invalid API key"),
        (402, "application/json", {"error": "quota exceeded"}, "quota exceeded"),
        (400, "application/json", {"message": "nope"}, "nope"),
        (400, "application/json", {"err_code": "X", "err_msg": "bad audio"}, "bad audio"),
        (400, "text/html", {"error": {"message": "JSON all the same"}}, "JSON all the same"),
        (500, "text/plain", b"Internal Server Error", "Internal Server Error"),
        (404, "text/plain", b"", "Upstream error (404 Not Found)"),
        (404, "text/plain", b"  \n", "Upstream error (404 Not Found)"),
        (599, "text/plain", b"", "Upstream error (599)"),
        (400, "application/json", {"error": {"message": ""}}, '{"error": {"message": ""}}'),
        (400, "application/json", {"detail": "x"}, '{"detail": "x"}'),
        (400, "application/json", [1], "[1]"),
        (503, "text/html; charset=utf-8", b"<p>no title</p>", "Upstream error (503 Service Unavailable)"),
        (503, "text/plain", b"<html><TITLE>Busy</TITLE>", "Busy"),
        (400, "text/plain", b"\xff\xfe", "\ufffd\ufffd"),
        (400, "text/plain", b"[" * 50_000, "[" * 8_000),
    ],
)
async def test_error_texts_t9(status: int, content_type: str, body: object, message: str):
    async with recorder((status, body), content_type=content_type) as upstream:
        error = await fault("selfhosted-stt", upstream.url)
    assert (error.status, error.message) == (status, message)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (402, "api_error"),
        (403, "authentication_error"),
        (404, "not_found_error"),
        (408, "timeout_error"),
        (413, "api_error"),
        (422, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "server_error"),
        (503, "server_error"),
        (504, "timeout_error"),
    ],
)
async def test_status_and_type_stay_verbatim_h2_h3(status: int, kind: str):
    text = "Rate limit reached for whisper-large in organization org-abc"
    async with recorder((status, {"error": {"message": text}})) as upstream:
        error = await fault("openai", upstream.url)
    assert (error.status, error.type, error.message) == (status, kind, text)
    assert error.code == ("rate_limited" if status == 429 else "upstream_error")


@ALL
async def test_an_echoed_secret_is_taken_out_b17(provider: str):
    body = {"error": {"message": f"key {SECRET} is wrong"}}
    async with recorder((403, body)) as upstream:
        error = await fault(provider, upstream.url)
    assert (error.status, error.message) == (403, "key [redacted] is wrong")


@ALL
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", range(7, 8)),
        ("1.2", range(2, 3)),
        ("-5", range(1)),
        ("soon", None),
        ("inf", None),
        (timedelta(hours=1), range(3500, 3602)),
        ("Mon, 01 Jan 2024 00:00:00 GMT", range(1)),
    ],
)
async def test_retry_after_as_seconds_or_date(provider: str, value: str | timedelta, seconds: range | None):
    if isinstance(value, timedelta):
        value = format_datetime(datetime.now(UTC) + value, usegmt=True)

    async def limited(request: web.Request) -> web.Response:
        await request.read()
        return web.json_response({"error": "slow down"}, status=429, headers={"Retry-After": value})

    app = web.Application()
    app.router.add_post("/{anything:.*}", limited)
    async with serve(app) as url:
        error = await fault(provider, url)
    assert (error.status, error.message) == (429, "slow down")
    assert error.retry_after is None if seconds is None else error.retry_after in seconds


async def test_an_endless_error_page_still_gives_its_status():
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await raw.request(reader)
        writer.write(b"HTTP/1.1 503 Busy\r\nContent-Type: text/plain\r\n\r\nbusy ")
        while not writer.is_closing():
            writer.write(b"x" * 5_000)
            await writer.drain()

    async with raw.raw(script) as url:
        error = await asyncio.wait_for(fault("deepgram", url), 5)
    assert error.status == 503
    assert error.message.startswith("busy xxx")
    assert len(error.message) == 8_000


async def test_an_error_page_that_stalls_still_gives_its_status():
    page = b"HTTP/1.1 503 Busy\r\nContent-Length: 100\r\nContent-Type: text/plain\r\n\r\nbusy"
    async with raw.answering(page, b"never", pause=5) as url:
        error = await fault("gemini", url, limits=QUICK)
    assert (error.status, error.message) == (503, "busy")
