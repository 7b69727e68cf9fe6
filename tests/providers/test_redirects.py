"""Where a redirect is followed, and where that would give away a secret or lose the recording."""

import pytest
from aiohttp import web

from fakes import raw
from fakes.loopback import serve
from fakes.recorder import recorder
from openproxy.errors import UpstreamError
from openproxy.upload import TranscriptionRequest
from support.faults import ALL, SMALL, failed, fault
from support.providers import AUDIO, Passing, account, asked, transcribe


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
        await transcribe(request, account("openai", url), SMALL)
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
