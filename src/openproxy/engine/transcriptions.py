"""From a form to an answer: reads it in the way of the API that is served, has the job done, writes the result."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, closing
from dataclasses import replace

from openproxy import formats
from openproxy.audio.limits import Limits
from openproxy.engine import llama_forms, openai, openai_events
from openproxy.engine.exchange import Exchange
from openproxy.engine.llama import events, form, replies
from openproxy.engine.llama.replies import Reply
from openproxy.engine.metrics import Metrics
from openproxy.engine.models import Item, ModelFacts, Options, Piece, Progress
from openproxy.engine.settings import EngineSettings
from openproxy.engine.worker import Worker
from openproxy.engine.worker_messages import Job
from openproxy.errors import BadRequest, Loading, UnsupportedEncoding, UploadTooLarge
from openproxy.transcript import Segment, Transcript
from openproxy.upload import Upload
from openproxy.web import multipart_body

Results = AsyncGenerator[Item]

_ONE_SAMPLE = 2 / 16_000
"""Seconds: what is shorter holds one sample, and no model may see it (contracts/engine.md, decision 6)."""
_HEADROOM = 1024 * 1024
"""Bytes of a form beyond its file."""
_LARGE = 200
"""Segments from which a transcript is rendered beside the event loop."""


class Transcriptions:
    """The handlers of the transcription and translation routes."""

    def __init__(self, settings: EngineSettings, worker: Worker, metrics: Metrics):
        self._settings = settings
        self._worker = worker
        self._metrics = metrics
        self._openai = settings.api == "openai"
        self._defaults = Options(
            temperature=settings.temperature,
            vad=settings.vad,
            max_tokens=None if settings.max_tokens < 0 else settings.max_tokens,
        )
        self._limits = Limits(settings.max_seconds, settings.max_rate, settings.max_channels, settings.max_bytes)

    async def transcribe(self, exchange: Exchange) -> None:
        """What was said, in the language in which it was said."""
        if self._openai:
            await self._answer_openai(exchange, translate=False)
            return
        with closing(await self._read_llama(exchange)) as body:
            if self._facts.takes_audio is False:
                raise replies.no_audio_input()
            asked = llama_forms.transcription(body, self._facts, self._defaults)
            job = self._job(asked.upload, asked.options, shortest=_ONE_SAMPLE, late=asked.late)
            await exchange.while_connected(self._answer_llama(exchange, job, stream=asked.stream))

    async def translate(self, exchange: Exchange) -> None:
        """What was said, in English. In llama-server's API only a Whisper model has this route."""
        if self._openai:
            await self._answer_openai(exchange, translate=True)
            return
        if self._facts.kind == "chat":
            raise replies.no_route(exchange.method)
        with closing(await self._read_llama(exchange)) as body:
            asked = llama_forms.translation(body, self._facts, self._defaults)
            job = self._job(asked.upload, asked.options, shortest=_ONE_SAMPLE)
            await exchange.while_connected(self._answer_translation(exchange, job, asked.response_format))

    @property
    def _facts(self) -> ModelFacts:
        if self._worker.facts is None:
            raise Loading("Loading model", retry_after=1)
        return self._worker.facts

    def _job(self, upload: Upload, options: Options, *, shortest: float, late: str | None = None) -> Job:
        strict = self._settings.strict_containers
        return Job(upload.source, self._limits, options, strict_containers=strict, shortest=shortest, late=late)

    async def _read_llama(self, exchange: Exchange) -> form.Form:
        settings = self._settings
        return await form.read(
            exchange.chunks(),
            exchange.header("content-type"),
            content_encoding=exchange.header("content-encoding"),
            declared=exchange.declared,
            limits=form.Limits(
                settings.max_parts, settings.max_bytes, max(form.BODY_BYTES, settings.max_bytes + _HEADROOM)
            ),
        )

    async def _read_openai(self, exchange: Exchange) -> multipart_body.Form:
        encoding = (exchange.header("content-encoding") or "identity").strip().lower()
        if encoding != "identity":
            raise UnsupportedEncoding("A request with a Content-Encoding is not read; send it as it is")
        content_type = exchange.header("content-type") or ""
        if multipart_body.media_type(content_type).lower() != "multipart/form-data":
            raise BadRequest("Content-Type must be multipart/form-data", code="invalid_content_type")
        settings = self._settings
        limits = multipart_body.Limits(settings.max_parts, settings.max_bytes, settings.max_bytes + _HEADROOM)
        try:
            return await multipart_body.read(
                exchange.chunks(), multipart_body.boundary_of(content_type), limits, declared=exchange.declared
            )
        except BadRequest as error:
            if error.code == "part_too_large":
                raise UploadTooLarge(error.message, param=error.param) from None
            raise

    async def _answer_openai(self, exchange: Exchange, *, translate: bool) -> None:
        with closing(await self._read_openai(exchange)) as body:
            if self._facts.takes_audio is False:
                raise replies.no_audio_input()
            if translate and not self._facts.translates and self._facts.kind == "chat":
                raise BadRequest(f"The model '{self._facts.name}' transcribes and does not translate", param="model")
            wanted = openai.read(body, self._facts, self._defaults, translate=translate)
            job = self._job(wanted.upload, wanted.options, shortest=openai.SHORTEST_SECONDS)
            await exchange.while_connected(self._answer_wanted(exchange, job, wanted))

    async def _answer_wanted(self, exchange: Exchange, job: Job, wanted: openai.Wanted) -> None:
        async with aclosing(self._results(job)) as results:
            if wanted.stream:
                first = await _first(results)
                await exchange.stream(
                    openai_events.frames(first, results, segments=wanted.response_format in formats.SEGMENTED)
                )
                return
            transcript = await _last(results)
        if self._facts.kind == "chat":
            transcript = _told_in_tokens(transcript)
        await exchange.reply(await _rendered(transcript, wanted))

    async def _answer_llama(self, exchange: Exchange, job: Job, *, stream: bool) -> None:
        async with aclosing(self._results(job)) as results:
            if stream:
                await exchange.stream(await events.opened(results))
                return
            transcript = await _last(results)
        await exchange.reply(replies.transcription(transcript))

    async def _answer_translation(self, exchange: Exchange, job: Job, response_format: str) -> None:
        async with aclosing(self._results(job)) as results:
            transcript = await _last(results)
        await exchange.reply(llama_forms.translated(transcript, response_format))

    async def _results(self, job: Job) -> Results:
        """What the worker finds; the length of each finished recording is counted."""
        async with aclosing(self._worker.submit(job)) as results:
            async for result in results:
                if isinstance(result, Transcript):
                    self._metrics.transcribed(result.duration or 0.0)
                yield result


async def _first(results: Results) -> Segment | Piece | Transcript:
    """The first thing that can be sent, so that an earlier error is answered with its own status."""
    async for result in results:
        if not isinstance(result, Progress):
            return result
    raise AssertionError("a job ends with its transcript")


async def _last(results: Results) -> Transcript:
    async for result in results:
        if isinstance(result, Transcript):
            return result
    raise AssertionError("a job ends with its transcript")


def _told_in_tokens(transcript: Transcript) -> Transcript:
    """With its usage in tokens, where they are known, and not in seconds (contracts/engine.md, decision 11)."""
    usage = transcript.usage
    if usage is None or usage.input_tokens is None or usage.output_tokens is None:
        return transcript
    return replace(transcript, usage=replace(usage, seconds=None))


async def _rendered(transcript: Transcript, wanted: openai.Wanted) -> Reply:
    name, granularities = wanted.response_format, wanted.granularities
    if len(transcript.segments) < _LARGE:
        rendered = formats.render(transcript, name, granularities=granularities)
    else:
        rendered = await asyncio.to_thread(formats.render, transcript, name, granularities=granularities)
    return Reply(200, rendered.body, rendered.content_type)
