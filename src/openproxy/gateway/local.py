"""The gateway's walk without its server: for a command on this machine that uses the stored accounts itself."""

import time

from openproxy.errors import OpenProxyError, UpstreamError
from openproxy.gateway import answers, fallback
from openproxy.gateway.asked import Asked
from openproxy.gateway.auth import Caller
from openproxy.gateway.call import Call
from openproxy.gateway.planning import plan
from openproxy.gateway.services import Services
from openproxy.transcript import Task, Transcript
from openproxy.upload import Spooled, TranscriptionRequest, Upload
from openproxy.web.responses import new_request_id


async def transcribe(services: Services, asked: Asked, upload: Upload, *, task: Task = "transcribe") -> Transcript:
    """What the accounts of the model's provider make of a finished `upload`; a usage row is written.

    The field `response_format` says what the transcript will be made into, so that the provider is asked for the times
    or speakers that this needs. Raises what a client of the server would be answered.
    """
    begun = time.monotonic()
    call = Call(new_request_id(), Caller(), audio_bytes=upload.size)
    status = 499
    try:
        planned = plan(await services.store.snapshot(), asked.model, task, call)
        request = TranscriptionRequest(
            model=planned.model,
            audio=Spooled(upload),
            filename=asked.filename,
            content_type=asked.content_type,
            fields=asked.fields,
            task=task,
            rendered=True,
        )
        reply = await fallback.walk(services, planned.entry, planned.accounts, _Always(request), call)
        if not isinstance(reply.answer, Transcript):
            raise UpstreamError(502, "Request failed: the answer is no transcript")
    except OpenProxyError as error:
        status = error.status
        raise
    else:
        status, call.audio_seconds = 200, answers.seconds(reply.answer)
        return reply.answer
    finally:
        services.note(call, status, time.monotonic() - begun)


class _Always:
    """The same request for every attempt: its recording can be read as often as needed."""

    def __init__(self, request: TranscriptionRequest):
        self._request = request

    async def request(self) -> TranscriptionRequest:
        """See `fallback.Source`."""
        return self._request
