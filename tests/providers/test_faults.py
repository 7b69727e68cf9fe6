"""What an upstream can do wrong, each with its right answer, in milliseconds and without a secret."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import aiohttp
import pytest
from aiohttp import web

from fakes import raw
from fakes.loopback import serve
from fakes.recorder import recorder
from openproxy import providers
from openproxy.errors import UpstreamError
from openproxy.providers.catalog import PROVIDERS
from openproxy.providers.http import Answer, Client, Limits
from openproxy.providers.replies import Verbatim
from openproxy.upload import TranscriptionRequest
from support.providers import AUDIO, SECRET, Passing, account, asked, spooled, transcribe

QUICK = Limits(connect=0.2, idle=0.15, answer_bytes=10_000)
ALL = pytest.mark.parametrize("provider", list(PROVIDERS))
UPLOAD = {"assemblyai": "AssemblyAI upload failed: "}
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


async def fault(provider: str, url: str, request: TranscriptionRequest | None = None) -> UpstreamError:
    """The error that a transcription ends in; no form of it holds the secret or the address."""
    with pytest.raises(UpstreamError) as raised:
        await transcribe(request or asked("m"), account(provider, url), QUICK)
    error = raised.value
    for text in (error.message, str(error), repr(error), repr(error.__cause__), repr(error.__reduce__())):
        assert SECRET not in text
        assert "127.0.0.1" not in text
    assert not isinstance(error.__context__, aiohttp.ClientError | OSError)
    return error


def failed(provider: str, detail: str) -> str:
    return UPLOAD.get(provider, "Request failed: ") + detail


@ALL
async def test_refused_h24(provider: str):
    error = await fault(provider, "http://127.0.0.1:9")
    assert (error.status, error.type, error.code) == (502, "server_error", "upstream_error")
    assert error.message == failed(provider, "connection refused")


@ALL
async def test_an_unknown_host(provider: str):
    error = await fault(provider, "http://no-such-host.invalid")
    assert (error.status, error.message) == (502, failed(provider, "the host name does not resolve"))


@ALL
async def test_reset_before_the_headers(provider: str):
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await raw.request(reader)
        raw.reset(writer)

    async with raw.raw(script) as url:
        error = await fault(provider, url)
    assert error.status == 502
    assert error.message in (
        failed(provider, "connection reset by peer"),
        failed(provider, "the connection was closed before an answer came"),
    )


@ALL
async def test_closed_before_the_headers(provider: str):
    async with raw.answering() as url:
        error = await fault(provider, url)
    assert (error.status, error.message) == (502, failed(provider, "the connection was closed before an answer came"))


@ALL
async def test_reset_after_the_headers(provider: str):
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await raw.request(reader)
        writer.write(OK + b'Content-Length: 100\r\n\r\n{"text": "half')
        await writer.drain()
        await asyncio.sleep(0.05)
        raw.reset(writer)

    async with raw.raw(script) as url:
        error = await fault(provider, url)
    assert error.status == 502
    assert error.message in (
        failed(provider, "the answer is cut short or damaged"),
        failed(provider, "connection reset by peer"),
    )


@ALL
@pytest.mark.parametrize(
    "head", [OK + b"Content-Length: 100\r\n\r\n", OK + b"Transfer-Encoding: chunked\r\n\r\n10\r\n"]
)
async def test_a_body_cut_short_is_never_half_a_transcript_b24(provider: str, head: bytes):
    async with raw.answering(head + b'{"text":') as url:
        error = await fault(provider, url)
    assert (error.status, error.message) == (502, failed(provider, "the answer is cut short or damaged"))


@ALL
async def test_slow_to_the_first_byte(provider: str):
    async with raw.answering(b"", OK, pause=5) as url:
        error = await fault(provider, url)
    assert (error.status, error.message) == (502, failed(provider, "no byte for 0.15 s"))


@ALL
async def test_a_stall_in_the_middle_of_the_body(provider: str):
    async with raw.answering(OK + b'Content-Length: 100\r\n\r\n{"text"', b"...", pause=5) as url:
        error = await fault(provider, url)
    assert (error.status, error.message) == (502, failed(provider, "no byte for 0.15 s"))


@ALL
async def test_an_upstream_that_stops_taking_the_upload(provider: str):
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(100)
        await asyncio.sleep(5)

    async with raw.raw(script) as url:
        error = await fault(provider, url, asked("m", audio=spooled(bytes(40_000_000))))
    assert (error.status, error.message) == (502, failed(provider, "no byte for 0.15 s"))


async def test_a_slow_client_is_not_a_slow_upstream():
    class Slow(Passing):
        async def chunks(self) -> AsyncIterator[bytes]:
            for piece in (b"a", b"b", b"c"):
                await asyncio.sleep(0.2)
                yield piece

    async with recorder() as upstream:
        reply = await transcribe(asked("m", audio=Slow([])), account("openai", upstream.url), QUICK)
    assert isinstance(reply.answer, Verbatim)
    assert b"\r\n\r\nabc\r\n" in upstream.seen[0].body


async def test_what_the_client_breaks_is_not_the_upstreams_fault():
    class ClientGone(Exception):
        pass

    class Broken(Passing):
        async def chunks(self) -> AsyncIterator[bytes]:
            yield b"RIFF"
            raise ClientGone

    ended = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            pass
        ended.set()

    async with raw.raw(script) as url, Client(QUICK) as client:
        for provider_id in ("openai", "deepgram", "huggingface", "assemblyai"):
            ended.clear()
            provider = providers.get(provider_id)
            assert provider is not None
            with pytest.raises(ClientGone):
                await provider.transcribe(asked("m", audio=Broken([])), account(provider_id, url), client)
            await asyncio.wait_for(ended.wait(), 1)


@ALL
async def test_a_refusal_before_the_upload_has_ended(provider: str):
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(100)
        writer.write(b'HTTP/1.1 401 No\r\nContent-Length: 19\r\n\r\n{"error":"bad key"}')
        await asyncio.sleep(5)

    async with raw.raw(script) as url:
        error = await fault(provider, url, asked("m", audio=spooled(bytes(20_000_000))))
    assert (error.status, error.message) == (401, "bad key")


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


# Redirects


@ALL
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_another_host_is_not_followed_decision_16(provider: str, status: int):
    async with (
        recorder() as elsewhere,
        raw.answering(
            f"HTTP/1.1 {status} Moved\r\nLocation: {elsewhere.url}/steal\r\nContent-Length: 0\r\n\r\n".encode()
        ) as url,
    ):
        error = await fault(provider, url)
    assert (error.status, error.message) == (
        502,
        failed(provider, "the upstream redirects to another host, which is not followed"),
    )
    assert elsewhere.seen == []


async def redirecting(status: int, request: TranscriptionRequest) -> tuple[list[str], bytes]:
    """Paths and last body of a request to a server that redirects to another path of its own."""
    paths: list[str] = []
    body = b""

    async def handle(http: web.Request) -> web.Response:
        nonlocal body
        paths.append(http.path)
        body = await http.read()
        if http.path == "/final":
            return web.json_response({"text": "x"})
        return web.Response(status=status, headers={"Location": "/final"})

    app = web.Application()
    app.router.add_post("/{anything:.*}", handle)
    async with serve(app) as url:
        await transcribe(request, account("openai", url), QUICK)
    return paths, body


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_on_the_same_host_is_followed_with_the_same_body(status: int):
    paths, body = await redirecting(status, asked("m"))
    assert paths == ["/v1/audio/transcriptions", "/final"]
    assert AUDIO in body


@pytest.mark.parametrize(
    ("status", "request_"), [(302, asked("m")), (303, asked("m")), (307, asked("m", audio=Passing([b"RIFF"])))]
)
async def test_a_redirect_that_would_lose_the_body_is_not_followed(status: int, request_: TranscriptionRequest):
    with pytest.raises(UpstreamError) as raised:
        await redirecting(status, request_)
    assert raised.value.message == "Request failed: the upstream redirects to another address; set it as baseUrl"


async def test_a_redirect_without_end():
    async def handle(request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": str(request.url.path)})

    app = web.Application()
    app.router.add_post("/{anything:.*}", handle)
    async with serve(app) as url:
        error = await fault("openai", url)
    assert error.message == "Request failed: the upstream redirects in a circle"


async def test_a_redirect_that_points_nowhere():
    async with raw.answering(b"HTTP/1.1 304 Not Modified\r\n\r\n") as url:
        error = await fault("openai", url)
    assert (error.status, error.message) == (502, "Upstream error (304 Not Modified)")


# Sizes and shapes


@ALL
@pytest.mark.parametrize("declared", [True, False])
async def test_an_endless_body_is_a_502_decision_27(provider: str, declared: bool):
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await raw.request(reader)
        writer.write(OK + (b"Content-Length: 99999999999\r\n\r\n" if declared else b"\r\n"))
        while not writer.is_closing():
            writer.write(b"x" * 5_000)
            await writer.drain()

    async with raw.raw(script) as url:
        error = await asyncio.wait_for(fault(provider, url), 5)
    assert (error.status, error.message) == (502, failed(provider, "the answer is larger than 10000 bytes"))


async def test_a_compressed_answer_counts_by_what_it_unpacks_to():
    packed = gzip.compress(bytes(50_000_000))
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    async with raw.answering(head + packed) as url:
        error = await asyncio.wait_for(fault("openai", url), 5)
    assert (error.status, error.message) == (502, "Request failed: the answer is larger than 10000 bytes")


async def test_a_compressed_answer_is_unpacked():
    packed = gzip.compress(b'{"text": "hello"}')
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    async with raw.answering(head + packed) as url:
        reply = await transcribe(asked("m"), account("openai", url), QUICK)
    assert reply.answer == Verbatim("application/json", b'{"text": "hello"}')


async def test_an_answer_that_is_not_what_it_says_it_is_compressed_with():
    async with raw.answering(OK + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}") as url:
        error = await fault("openai", url)
    assert (error.status, error.message) == (502, "Request failed: the answer is cut short or damaged")


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
        error = await fault("gemini", url)
    assert (error.status, error.message) == (503, "busy")


@ALL
async def test_what_is_not_http(provider: str):
    async with raw.answering(b"SSH-2.0-OpenSSH_9.6\r\n") as url:
        error = await fault(provider, url)
    assert (error.status, error.message) == (502, failed(provider, "the answer is not valid HTTP"))


@pytest.mark.parametrize("provider", ["deepgram", "huggingface", "gemini"])
async def test_truncated_json_is_a_502_and_a_wrong_content_type_is_not(provider: str):
    async with recorder(b'{"text": "hel', content_type="application/json") as upstream:
        error = await fault(provider, upstream.url)
    assert error.status == 502
    assert error.message.startswith("Failed parsing ")
    async with recorder({"text": "hello"}, content_type="text/html") as upstream:
        await transcribe(asked("m"), account(provider, upstream.url), QUICK)


# Streams


EVENT_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


async def streamed(url: str, client: Client) -> Answer:
    provider = providers.get("openai")
    assert provider is not None
    reply = await provider.transcribe(asked("m", ("stream", "true")), account("openai", url), client)
    assert isinstance(reply.answer, Verbatim)
    assert reply.answer.content_type == "text/event-stream"
    assert isinstance(reply.answer.body, Answer)
    return reply.answer.body


async def test_events_are_passed_on_as_they_arrive():
    events = [f"data: {json.dumps({'delta': word})}\n\n".encode() for word in ("a", "b", "c")]
    turn = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await raw.request(reader)
        writer.write(EVENT_STREAM)
        for event in events:
            writer.write(event)
            await writer.drain()
            await turn.wait()
            turn.clear()

    async with raw.raw(script) as url, Client(QUICK) as client:
        received = []
        async for chunk in await streamed(url, client):
            received.append(chunk)
            turn.set()
    assert received == events


async def test_a_stream_that_stalls_or_breaks_raises():
    async with raw.answering(EVENT_STREAM + b"data: 1\n\n", b"never", pause=5) as url, Client(QUICK) as client:
        chunks = aiter(await streamed(url, client))
        assert await anext(chunks) == b"data: 1\n\n"
        with pytest.raises(UpstreamError, match=r"^Request failed: no byte for 0\.15 s$"):
            await anext(chunks)


async def test_a_stream_that_is_never_read_can_be_closed():
    ended = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await raw.request(reader)
        writer.write(EVENT_STREAM + b"data: 1\n\n")
        await reader.read()
        ended.set()

    async with raw.raw(script) as url, Client() as client:
        body = await streamed(url, client)
        body.close()
        await asyncio.wait_for(ended.wait(), 1)


# Cancelling, and trying again


@ALL
@pytest.mark.parametrize("when", ["upload", "answer"])
async def test_cancelling_closes_the_connection_at_once(provider: str, when: str):
    begun, ended = asyncio.Event(), asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if when == "answer":
            await raw.request(reader)
            writer.write(OK + b"Content-Length: 100\r\n\r\n{")
        else:
            await reader.readexactly(100)
        begun.set()
        try:
            while await reader.read(100_000):
                pass
        finally:
            ended.set()

    audio = spooled(bytes(20_000_000)) if when == "upload" else spooled()
    adapter = providers.get(provider)
    assert adapter is not None
    async with raw.raw(script) as url, Client() as client:
        task = asyncio.create_task(adapter.transcribe(asked("m", audio=audio), account(provider, url), client))
        await asyncio.wait_for(begun.wait(), 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(ended.wait(), 1)
    assert [left for left in asyncio.all_tasks() if "aiohttp" in repr(left)] == []


@pytest.mark.parametrize("provider", ["openai", "groq", "selfhosted-stt", "deepgram", "huggingface", "gemini"])
@pytest.mark.parametrize("status", [401, 429, 500])
@pytest.mark.parametrize("size", [700, 3_000_000])
async def test_both_attempts_carry_identical_bytes_b15(provider: str, status: int, size: int):
    audio = spooled(bytes(number % 253 for number in range(1000)) * (size // 1000 + 1))
    request = asked("m", ("prompt", "p"), audio=audio)
    async with recorder((status, {"error": "again"}), {"text": "second"}) as upstream:
        with pytest.raises(UpstreamError):
            await transcribe(request, account(provider, upstream.url))
        await transcribe(request, account(provider, upstream.url))
    first, second = upstream.seen
    assert len(first.body) > size
    assert first.body == second.body
    assert first.headers["content-length"] == second.headers["content-length"] == str(len(first.body))


async def test_connections_are_kept_and_used_again():
    peers: set[object] = set()

    async def handle(request: web.Request) -> web.Response:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))
        await request.read()
        return web.json_response({"text": "x"}, headers={"Set-Cookie": "account=1; Path=/"})

    app = web.Application()
    app.router.add_post("/{anything:.*}", handle)
    provider = providers.get("openai")
    assert provider is not None
    async with serve(app) as url, Client() as client:
        for _ in range(3):
            await provider.transcribe(asked("m"), account("openai", url), client)
    assert len(peers) == 1


async def test_nothing_of_one_account_reaches_another():
    seen: list[dict[str, str]] = []

    async def handle(request: web.Request) -> web.Response:
        seen.append(dict(request.headers))
        await request.read()
        return web.json_response({"text": "x"}, headers={"Set-Cookie": "account=1; Path=/"})

    app = web.Application()
    app.router.add_post("/{anything:.*}", handle)
    provider = providers.get("groq")
    assert provider is not None
    async with serve(app) as url, Client() as client:
        for _ in range(2):
            await provider.transcribe(asked("m"), account("groq", url), client)
    assert all("Cookie" not in headers for headers in seen)


async def test_ipv6():
    async with recorder(host="::1") as upstream:
        await transcribe(asked("m"), account("selfhosted-stt", f"{upstream.url}/v1"))
    assert upstream.seen[0].path == "/v1/audio/transcriptions"
