"""A provider's Reply -> the answer to the client: verbatim, the specification's `{"text"}`, or a format made here."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from openproxy import formats
from openproxy.errors import BadRequest
from openproxy.formats import json as json_formats
from openproxy.gateway.call import IGNORED, Call
from openproxy.gateway.exchange import Exchange
from openproxy.providers import reading
from openproxy.providers.http import Answer
from openproxy.providers.replies import Reply, Verbatim
from openproxy.transcript import Transcript, whole
from openproxy.upload import TranscriptionRequest
from openproxy.web import sse

_LARGE = 200
"""Segments from which a transcript is rendered beside the event loop."""
_TELLING = 1024 * 1024
"""Bytes of a JSON answer up to which its duration is looked for."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The format to make, where the gateway makes it (contracts/gateway.md, decision 14)."""

    response_format: str
    granularities: tuple[str, ...]
    stream: bool

    @classmethod
    def of(cls, request: TranscriptionRequest) -> "Wanted":
        """What the request's fields ask for. Raises BadRequest where that is no format, before anything is sent."""
        response_format = request.value("response_format") or "json"
        granularities = request.values("timestamp_granularities")
        formats.check(response_format)
        formats.check_granularities(granularities)
        stream = request.says("stream")
        if stream and response_format in formats.SUBTITLES:
            raise BadRequest(
                f"response_format {response_format} cannot be streamed; leave out stream, or ask for another format",
                param="stream",
            )
        return cls(response_format, granularities, stream)


async def send(exchange: Exchange, reply: Reply, wanted: Wanted | None, call: Call) -> None:
    """Send the answer; `wanted` is None where the gateway makes no format. Raises FormatUnavailable, then unsent."""
    headers = call.headers()
    if reply.ignored:
        headers[IGNORED] = ",".join(reply.ignored)
    if isinstance(reply.answer, Verbatim):
        await _send_verbatim(exchange, reply.answer, headers, call)
        return
    transcript = reply.answer
    call.audio_seconds = seconds(transcript)
    if wanted is None:
        await exchange.json({"text": transcript.text}, headers=headers)
        return
    transcript = whole(transcript)
    if wanted.stream:
        if wanted.response_format in formats.SEGMENTED:
            # a transcript without times or speakers is refused while a status can still be sent
            await _rendered(transcript, wanted)
        await exchange.stream(_events(transcript, wanted), sse.MEDIA_TYPE, headers)
    else:
        rendered = await _rendered(transcript, wanted)
        await exchange.reply(200, rendered.body, rendered.content_type, headers)


async def _send_verbatim(exchange: Exchange, answer: Verbatim, headers: dict[str, str], call: Call) -> None:
    body = answer.body
    if isinstance(body, Answer):
        try:
            await exchange.stream(aiter(body), answer.content_type, headers)
        finally:
            body.close()
        return
    call.audio_seconds = _told_seconds(body)
    await exchange.reply(200, body, answer.content_type, headers)


async def _rendered(transcript: Transcript, wanted: Wanted) -> formats.Rendered:
    name, granularities = wanted.response_format, wanted.granularities
    if len(transcript.segments) < _LARGE:
        return formats.render(transcript, name, granularities=granularities)
    return await asyncio.to_thread(formats.render, transcript, name, granularities=granularities)


async def _events(transcript: Transcript, wanted: Wanted) -> AsyncIterator[bytes]:
    """The finished transcript as OpenAI streams one: deltas that joined are its text, the whole, the end mark."""
    for delta in _deltas(transcript):
        yield sse.frame(formats.events.delta(delta))
    if wanted.response_format == "diarized_json":
        for index, segment in enumerate(json_formats.turns(transcript)):
            yield sse.frame(formats.events.segment(segment, index))
    if wanted.response_format == "verbose_json":
        for index, segment in enumerate(json_formats.segments(transcript)):
            # as the engine tells it: nobody was asked who speaks
            yield sse.frame(formats.events.segment(segment, index) | {"speaker": segment.speaker or ""})
    yield sse.frame(formats.events.done(transcript))
    yield sse.DONE


def _deltas(transcript: Transcript) -> Iterator[str]:
    deltas = list(formats.events.deltas(transcript.segments))
    if "".join(deltas) != transcript.text:
        deltas = [transcript.text] if transcript.text else []
    return iter(deltas)


def seconds(transcript: Transcript) -> float | None:
    """The length of the recording, where its source tells it."""
    if transcript.duration is not None:
        return transcript.duration
    return None if transcript.usage is None else transcript.usage.seconds


def _told_seconds(body: bytes) -> float | None:
    """The length of the recording where a JSON answer tells it: `duration`, or the seconds that were billed."""
    if len(body) > _TELLING or not (b'"duration"' in body or b'"seconds"' in body):
        return None
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    found = reading.seconds(document, "duration")
    return found if found is not None else reading.seconds(document, "usage", "seconds")
