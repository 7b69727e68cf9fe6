"""The routes that transcribe and translate: body in, routed, walked, answered, noted (contracts/gateway.md, section 2)."""

import time
from contextlib import closing
from dataclasses import replace

from openproxy.errors import OpenProxyError
from openproxy.gateway import answers, fallback
from openproxy.gateway.answers import Wanted
from openproxy.gateway.asked import Intake
from openproxy.gateway.auth import Caller
from openproxy.gateway.call import Call
from openproxy.gateway.exchange import CLIENT_GONE, Exchange
from openproxy.gateway.intake import open_intake
from openproxy.gateway.planning import plan
from openproxy.gateway.services import Services
from openproxy.providers.catalog import Entry
from openproxy.store.settings import Settings
from openproxy.store.snapshot import Snapshot
from openproxy.transcript import Task
from openproxy.upload import Recording, TranscriptionRequest

_SHORT_BYTES = 1024 * 1024
"""Bytes of a body up to which it is read whole before the first of several accounts is asked, so that each attempt
carries the same Content-Length: nothing is gained by sending it on while it arrives."""

FORMATS = "x-openproxy-formats"
"""Request header: `rendered` has the gateway make the format, `verbatim` has it pass on what the provider answers."""


async def transcribe(services: Services, exchange: Exchange, snapshot: Snapshot, caller: Caller) -> None:
    """POST /v1/audio/transcriptions."""
    await _answer(services, exchange, snapshot, caller, "transcribe")


async def translate(services: Services, exchange: Exchange, snapshot: Snapshot, caller: Caller) -> None:
    """POST /v1/audio/translations."""
    await _answer(services, exchange, snapshot, caller, "translate")


async def _answer(services: Services, exchange: Exchange, snapshot: Snapshot, caller: Caller, task: Task) -> None:
    call = Call(exchange.request_id, caller)
    try:
        with closing(open_intake(exchange, snapshot.settings, services.settings.spool)) as body:
            try:
                await _transcribe(services, exchange, snapshot, body, call, task)
            finally:
                call.audio_bytes = body.size
    except OpenProxyError as error:
        await exchange.fail(error, call.headers())
    finally:
        services.note(call, exchange.status or CLIENT_GONE, time.monotonic() - exchange.begun)


async def _transcribe(
    services: Services, exchange: Exchange, snapshot: Snapshot, body: Intake, call: Call, task: Task
) -> None:
    await body.begin()
    begun, rendered = body.asked(), _is_rendered(exchange, snapshot.settings)
    planned = plan(snapshot, begun.model, task, call)
    # a format that may still follow the file must be known before the provider is asked for what it needs
    waits = rendered and not any(name == "response_format" for name, _ in begun.fields)
    several = len(planned.accounts) > 1
    audio = await _first(body, planned.entry, waits=waits or (several and _is_short(exchange)), several=several)
    asked = body.asked()
    if asked.model != begun.model:
        planned = plan(snapshot, asked.model, task, call)
    request = TranscriptionRequest(
        model=planned.model,
        audio=audio,
        filename=asked.filename,
        content_type=asked.content_type,
        fields=asked.fields,
        task=task,
        rendered=rendered,
    )
    wanted = Wanted.of(request) if request.rendered else None
    reply = await fallback.walk(services, planned.entry, planned.accounts, _Source(body, request), call)
    await answers.send(exchange, reply, wanted, call)


async def _first(body: Intake, entry: Entry, *, waits: bool, several: bool) -> Recording:
    """The recording for the first attempt: while it arrives, where the provider takes it so; kept where there are more."""
    if entry.streams and not body.complete and not waits:
        return body.live(keep=several)
    await body.finish()
    return body.spooled()


class _Source:
    """The request for one attempt after the other. From the second on, the body is read to its end first."""

    def __init__(self, body: Intake, first: TranscriptionRequest):
        self._body = body
        self._first: TranscriptionRequest | None = first
        self._model = first

    async def request(self) -> TranscriptionRequest:
        """See `fallback.Source`."""
        if (first := self._first) is not None:
            self._first = None
            return first
        await self._body.finish()
        asked = self._body.asked()
        return replace(
            self._model,
            audio=self._body.spooled(),
            filename=asked.filename,
            content_type=asked.content_type,
            fields=asked.fields,
        )


def _is_short(exchange: Exchange) -> bool:
    """Whether the body is said to be of a few bytes."""
    declared = exchange.header("content-length") or ""
    return declared.isascii() and declared.isdigit() and len(declared) < 10 and int(declared) <= _SHORT_BYTES


def _is_rendered(exchange: Exchange, settings: Settings) -> bool:
    return (exchange.header(FORMATS) or settings.formats).strip().lower() == "rendered"
