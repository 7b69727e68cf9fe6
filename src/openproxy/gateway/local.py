"""The gateway's walk without its server: for a command on this machine that uses the stored accounts itself."""

import secrets
import time
from dataclasses import replace

from openproxy.errors import OpenProxyError, UpstreamError
from openproxy.gateway import answers, fallback
from openproxy.gateway.auth import Caller
from openproxy.gateway.call import Call
from openproxy.gateway.planning import plan
from openproxy.gateway.services import Services
from openproxy.transcript import Transcript, whole
from openproxy.upload import TranscriptionRequest

_INTERNAL = 500


async def transcribe(services: Services, request: TranscriptionRequest) -> Transcript:
    """What the accounts of the model's provider make of a recording that can be read again; a usage row is written.

    `request.model` is the model as a user writes it, and `request.rendered` is true: the field `response_format` says
    what the transcript will be made into, so that the provider is asked for the times or speakers that this needs.
    Raises what a client of the server would be answered.
    """
    begun, status = time.monotonic(), _INTERNAL
    call = Call(f"cli_{secrets.token_hex(16)}", Caller(), audio_bytes=request.audio.size or 0)
    try:
        planned = plan(await services.store.snapshot(), request.model, request.task, call)
        again = _Again(replace(request, model=planned.model))
        reply = await fallback.walk(services, planned.entry, planned.accounts, again, call)
        if not isinstance(reply.answer, Transcript):
            raise UpstreamError(502, f"{planned.entry.name} gave no transcript")
        status, call.audio_seconds = 200, answers.seconds(reply.answer)
        return whole(reply.answer)
    except OpenProxyError as error:
        status = error.status
        raise
    finally:
        services.note(call, status, time.monotonic() - begun)


class _Again:
    """The same request for every account."""

    def __init__(self, request: TranscriptionRequest):
        self._request = request

    async def request(self) -> TranscriptionRequest:
        """See `fallback.Source`."""
        return self._request
