"""AssemblyAI: upload, submit, then ask until it is done (contracts/gateway.md, section 3.5 and decision 11)."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from openproxy import languages
from openproxy.errors import UpstreamError
from openproxy.providers import addresses, bodies, credentials, reading, timing
from openproxy.providers.catalog import Entry
from openproxy.providers.exchange import refuse_translation, with_late_fields
from openproxy.providers.http import Client
from openproxy.providers.reading import text
from openproxy.providers.replies import Reply, ignored
from openproxy.providers.spelling import spelled
from openproxy.transcript import Transcript, Usage
from openproxy.upload import Connection, TranscriptionRequest

POLL_SECONDS = 2.0
"""Pause before each question whether the job is done."""
BUDGET_SECONDS = 120.0
"""How long a job may take, unless the connection's `pollTimeoutSeconds` says otherwise."""

_USED = frozenset({"language", "diarize", "keywords"})
_FINAL = (401, 403, 404)
"""What a poll can answer that no further poll will change."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Time as the polling sees it."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep


class AssemblyAI:
    """The asynchronous API for recordings."""

    def __init__(self, entry: Entry, clock: Clock | None = None):
        self.entry = entry
        self._clock = clock or Clock()

    async def transcribe(self, request: TranscriptionRequest, connection: Connection, client: Client) -> Reply:
        """See `Provider.transcribe`. Every attempt uploads again: an upload belongs to the account that made it."""
        refuse_translation(self.entry, request)
        base = addresses.resolve(self.entry, connection)
        upload = addresses.sibling(base, "transcript", "upload")
        if upload is None:
            raise UpstreamError(502, "Request failed: baseUrl of AssemblyAI must end in /transcript")
        headers = credentials.header(self.entry, connection, base)
        job = _Job(client, connection, headers)
        audio_url = await job.upload(upload, request)
        # the fields that followed the file are known by now, and none has been sent yet
        whole = with_late_fields(request)
        job_id = await job.submit(base, _order(whole, audio_url))
        done = await job.wait(addresses.below(base, job_id), _budget(connection), self._clock)
        return Reply(_read(whole, done), ignored(request, _USED, late=_USED))


@dataclass(frozen=True, slots=True)
class _Job:
    """The three calls, under one account."""

    client: Client
    connection: Connection
    headers: dict[str, str]

    async def upload(self, url: str, request: TranscriptionRequest) -> str:
        """Send the recording; the URL under which the vendor keeps it."""
        body = bodies.raw(request.audio, "application/octet-stream")
        answer = await self._named("upload", self.client.post(url, self.connection, self.headers, body))
        if audio_url := text(answer, "upload_url"):
            return audio_url
        raise UpstreamError(502, "AssemblyAI upload returned no upload_url")

    async def submit(self, url: str, order: dict[str, Any]) -> str:
        """Ask for the transcript; the job's id."""
        body = bodies.json_value(order)
        answer = await self._named("submit", self.client.post(url, self.connection, self.headers, body))
        if job_id := text(answer, "id"):
            return job_id
        raise UpstreamError(502, "AssemblyAI submit returned no transcript id")

    async def wait(self, url: str, budget: float, clock: Clock) -> Any:
        """Ask until the job is done; its document.

        Raises UpstreamError: 500 with the job's own error, 504 when the budget is spent, 401, 403 and 404 as they come.
        """
        start = clock.now()
        while clock.now() - start < budget:
            await clock.sleep(POLL_SECONDS)
            try:
                answer = await self.client.get(url, self.connection, self.headers)
                job = _parsed(await answer.read())
            except UpstreamError as error:
                if error.status in _FINAL:
                    raise
                continue
            status = text(job, "status")
            if status == "completed":
                return job
            if status == "error":
                message = credentials.redacted(text(job, "error"), self.connection)
                raise UpstreamError(500, message.strip() or "AssemblyAI failed")
        raise UpstreamError(504, f"AssemblyAI timeout after {budget:g}s")

    async def _named(self, step: str, call: Awaitable[Any]) -> Any:
        """The JSON that `call` answers with; a broken connection says at which step it broke."""
        try:
            answer = await call
            return _parsed(await answer.read())
        except UpstreamError as error:
            detail = error.message.removeprefix("Request failed: ")
            if detail == error.message:
                raise
            raise UpstreamError(error.status, f"AssemblyAI {step} failed: {detail}") from None


def _parsed(body: bytes) -> Any:
    """The JSON in `body`; None where it is none, which every reader takes for an empty answer."""
    try:
        return reading.document(body, "AssemblyAI")
    except UpstreamError:
        return None


def _budget(connection: Connection) -> float:
    """The connection's `pollTimeoutSeconds` where it is a positive number."""
    try:
        seconds = float(connection.options.get("pollTimeoutSeconds") or BUDGET_SECONDS)
    except (TypeError, ValueError, OverflowError):
        return BUDGET_SECONDS
    return seconds if 0 < seconds < float("inf") else BUDGET_SECONDS


def _order(request: TranscriptionRequest, audio_url: str) -> dict[str, Any]:
    """The job: detection of the language, or the language, never both."""
    order: dict[str, Any] = {"audio_url": audio_url, "speech_models": [request.model]}
    spoken = languages.for_upstream(request.value("language"), regions=False)
    order |= {"language_code": spoken} if spoken else {"language_detection": True}
    wanted = request.value("response_format") if request.rendered else None
    if request.says("diarize") or wanted == "diarized_json":
        order["speaker_labels"] = True
    if keywords := request.values("keywords"):
        order["keyterms_prompt"] = list(keywords)
    return order


def _read(request: TranscriptionRequest, job: Any) -> Transcript:
    """A completed job; its times are milliseconds."""
    said, words = text(job, "text"), timing.words(job, "text", per_second=1000)
    utterances = timing.utterances(reading.entries(job, "utterances"), "text", "text", per_second=1000)
    duration = reading.seconds(job, "audio_duration")
    code = text(job, "language_code") or request.value("language")
    return Transcript(
        text=said,
        language=reading.language(code.replace("_", "-")) if code else None,
        duration=duration,
        segments=timing.held(utterances, said, words),
        words=spelled(words, f" {said.strip()}") or words,
        usage=None if duration is None else Usage(seconds=duration),
    )
