"""Bodies of answers that are too large, compressed, cut short, or passed on as they arrive."""

import asyncio
import gzip
import json

import pytest

from fakes import raw
from fakes.recorder import recorder
from openproxy import providers
from openproxy.errors import UpstreamError
from openproxy.providers.http import Answer, Client
from openproxy.providers.replies import Verbatim
from openproxy.transcript import Transcript
from support.faults import ALL, OK, QUICK, SMALL, failed, fault
from support.providers import SECRET, account, asked, transcribe


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
        reply = await transcribe(asked("m"), account("openai", url), SMALL)
    assert reply.answer == Verbatim("application/json", b'{"text": "hello"}')


async def test_an_answer_that_is_not_what_it_says_it_is_compressed_with():
    async with raw.answering(OK + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}") as url:
        error = await fault("openai", url)
    assert (error.status, error.message) == (502, "Request failed: the answer is cut short or damaged")


@pytest.mark.parametrize("provider", ["deepgram", "huggingface", "gemini"])
async def test_truncated_json_is_a_502_and_a_wrong_content_type_is_not(provider: str):
    async with recorder(b'{"text": "hel', content_type="application/json") as upstream:
        error = await fault(provider, upstream.url)
    assert error.status == 502
    assert error.message.startswith("Failed parsing ")
    async with recorder({"text": "hello"}, content_type="text/html") as upstream:
        await transcribe(asked("m"), account(provider, upstream.url), SMALL)


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

    async with raw.raw(script) as url, Client(SMALL) as client:
        received = []
        async for chunk in await streamed(url, client):
            received.append(chunk)
            turn.set()
    assert received == events


async def test_a_stream_that_stalls_or_breaks_raises():
    async with raw.answering(EVENT_STREAM + b"data: 1\n\n", b"never", pause=5) as url, Client(QUICK) as client:
        chunks = aiter(await streamed(url, client))
        assert await anext(chunks) == b"data: 1\n\n"
        with pytest.raises(UpstreamError, match=r"^Request failed: no byte for 0\.4 s$"):
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
        await asyncio.wait_for(ended.wait(), 10)


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "text/event-stream"])
async def test_a_secret_that_a_successful_answer_repeats_is_not_passed_on_b17(content_type: str):
    head = OK + f"Content-Type: {content_type}\r\n\r\n".encode()
    pieces = (head + b'data: {"error": "bad key ' + SECRET[:6].encode(), SECRET[6:].encode() + b'"}\n\n')
    async with Client() as client, raw.answering(*pieces, pause=0.05) as url:
        reply = await providers.get("openai").transcribe(asked("m"), account("openai", url), client)
        assert isinstance(reply.answer, Verbatim)
        body = reply.answer.body
        shown = body if isinstance(body, bytes) else await body.read()
    assert shown == b'data: {"error": "bad key [redacted]"}\n\n'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": "FFmpeg conversion failed."}', "FFmpeg conversion failed."),
        (b'{"error": {"message": "no audio", "type": "x"}, "code": 3}', "no audio"),
        (b'{"error": {"code": 3}}', '{"error": {"code": 3}}'),
    ],
)
@pytest.mark.parametrize("provider", ["openai", "selfhosted-stt", "deepgram", "huggingface", "gemini"])
async def test_an_error_with_status_200_is_no_empty_transcript(provider: str, body: bytes, message: str):
    head = OK + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with raw.answering(head + body) as url:
        with pytest.raises(UpstreamError) as raised:
            await transcribe(asked("m", rendered=True), account(provider, url), SMALL)
    assert (raised.value.status, raised.value.message) == (502, message)


async def test_an_error_beside_a_transcript_takes_nothing_from_it():
    body = b'{"text": "hello", "error": "no speakers"}'
    head = OK + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with raw.answering(head + body) as url:
        reply = await transcribe(asked("m", rendered=True), account("selfhosted-stt", url), SMALL)
    assert isinstance(reply.answer, Transcript)
    assert reply.answer.text == "hello"
