"""What an upstream can do wrong on the wire, each with its right answer, in milliseconds and without a secret."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from fakes import raw
from fakes.recorder import recorder
from openproxy import providers
from openproxy.providers.http import Client
from openproxy.providers.replies import Verbatim
from support.faults import ALL, OK, QUICK, SMALL, failed, fault
from support.providers import Passing, account, asked, spooled, transcribe


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
        error = await fault(provider, url, limits=QUICK)
    assert (error.status, error.message) == (502, failed(provider, "no byte for 0.4 s"))


@ALL
async def test_a_stall_in_the_middle_of_the_body(provider: str):
    async with raw.answering(OK + b'Content-Length: 100\r\n\r\n{"text"', b"...", pause=5) as url:
        error = await fault(provider, url, limits=QUICK)
    assert (error.status, error.message) == (502, failed(provider, "no byte for 0.4 s"))


@ALL
async def test_an_upstream_that_stops_taking_the_upload(provider: str):
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(100)
        await asyncio.sleep(5)

    async with raw.raw(script) as url:
        error = await fault(provider, url, asked("m", audio=spooled(bytes(40_000_000))), limits=QUICK)
    assert (error.status, error.message) == (502, failed(provider, "no byte for 0.4 s"))


async def test_a_slow_client_is_not_a_slow_upstream():
    class Slow(Passing):
        async def chunks(self) -> AsyncIterator[bytes]:
            for piece in (b"a", b"b", b"c"):
                await asyncio.sleep(0.6)
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

    async with raw.raw(script) as url, Client(SMALL) as client:
        for provider_id in ("openai", "deepgram", "huggingface", "assemblyai"):
            ended.clear()
            provider = providers.get(provider_id)
            assert provider is not None
            with pytest.raises(ClientGone):
                await provider.transcribe(asked("m", audio=Broken([])), account(provider_id, url), client)
            await asyncio.wait_for(ended.wait(), 10)


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
async def test_what_is_not_http(provider: str):
    async with raw.answering(b"SSH-2.0-OpenSSH_9.6\r\n") as url:
        error = await fault(provider, url)
    assert (error.status, error.message) == (502, failed(provider, "the answer is not valid HTTP"))


# Cancelling


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
        await asyncio.wait_for(begun.wait(), 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(ended.wait(), 10)
    assert [left for left in asyncio.all_tasks() if "aiohttp" in repr(left)] == []
