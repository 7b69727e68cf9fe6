"""Calling a provider whose upstream goes wrong: what the error says, and that no form of it tells the secret."""

import aiohttp
import pytest

from openproxy.errors import UpstreamError
from openproxy.providers.catalog import PROVIDERS
from openproxy.providers.http import Limits
from openproxy.upload import TranscriptionRequest
from support.providers import SECRET, account, asked, transcribe

SMALL = Limits(connect=5, idle=5, answer_bytes=10_000)
QUICK = Limits(connect=5, idle=0.4, answer_bytes=10_000)
"""For tests of what is slow."""
ALL = pytest.mark.parametrize("provider", list(PROVIDERS))
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


async def fault(
    provider: str, url: str, request: TranscriptionRequest | None = None, limits: Limits = SMALL
) -> UpstreamError:
    """The error that a transcription ends in; no form of it holds the secret or the address."""
    with pytest.raises(UpstreamError) as raised:
        await transcribe(request or asked("m"), account(provider, url), limits)
    error = raised.value
    for text in (error.message, str(error), repr(error), repr(error.__cause__), repr(error.__reduce__())):
        assert SECRET not in text
        assert "127.0.0.1" not in text
    assert not isinstance(error.__context__, aiohttp.ClientError | OSError)
    return error


def failed(provider: str, detail: str) -> str:
    """The message for a request without an answer."""
    return ("AssemblyAI upload failed: " if provider == "assemblyai" else "Request failed: ") + detail
