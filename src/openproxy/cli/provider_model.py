"""A provider's model for `openproxy transcribe`: through the gateway's own code with the stored accounts, or a server."""

import asyncio
import json
import secrets
import threading
import time
from collections.abc import AsyncIterator, Collection, Coroutine, Generator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from openproxy import media_types
from openproxy.cli.client import Target
from openproxy.engine.models import Item, ModelFacts, Options
from openproxy.errors import OpenProxyError, UpstreamError
from openproxy.gateway import fallback
from openproxy.gateway.auth import Caller
from openproxy.gateway.call import Call
from openproxy.gateway.planning import plan
from openproxy.gateway.services import Services, Settings, running
from openproxy.gateway.transcriptions import FORMATS
from openproxy.providers import bodies, openai_answers
from openproxy.providers.http import Client
from openproxy.transcript import Task, Transcript, whole
from openproxy.upload import CHUNK_BYTES, Connection, Field, TranscriptionRequest

_TIMED = ("srt", "vtt", "verbose_json")
_BAD_REQUEST, _INTERNAL = 400, 500


class ProviderModel:
    """The model `provider/model`, asked on an event loop in a thread of its own. Made by `here` and `at`."""

    facts: ModelFacts | None = None

    def __init__(self, model: str):
        self._model = model
        self._loop = asyncio.new_event_loop()
        self._open = AsyncExitStack()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def stream(
        self, source: Path | bytes, name: str, options: Options, formats: Collection[str], *, times: bool = False
    ) -> Generator[Item, None, None]:
        """Send the recording; its transcript comes in one piece."""
        request = TranscriptionRequest(
            model=self._model,
            audio=Kept(source),
            filename=Path(name).name,
            fields=tuple(_fields(options, formats)),
            task="translate" if options.translate else "transcribe",
            rendered=True,
        )
        timed = replace(request, fields=tuple(_fields(options, (*formats, "verbose_json")))) if times else request
        yield self._run(self._best(timed, request))

    def close(self) -> None:
        """Close what is open, and end the thread."""
        self._run(self._open.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _best(self, timed: TranscriptionRequest, plain: TranscriptionRequest) -> Transcript:
        """The answer to `timed`, or to `plain` where the model is known to have no times, or refuses to give them."""
        if timed.fields != plain.fields and await self._may_tell_times():
            try:
                return await self._transcribe(timed)
            except OpenProxyError as error:
                if error.status != _BAD_REQUEST:
                    raise
        return await self._transcribe(plain)

    async def _may_tell_times(self) -> bool:
        return True

    async def _transcribe(self, request: TranscriptionRequest) -> Transcript:
        raise TypeError(f"{type(self).__name__} does not say how {request.model} is asked")


class Here(ProviderModel):
    """Through the gateway's routing and its walk over the accounts, without a server."""

    def __init__(self, model: str, settings: Settings):
        super().__init__(model)
        try:
            self._services: Services = self._run(self._open.enter_async_context(running(settings)))
        except BaseException:
            self.close()
            raise

    async def _transcribe(self, request: TranscriptionRequest) -> Transcript:
        services = self._services
        call = Call(f"cli_{secrets.token_hex(16)}", Caller(), audio_bytes=request.audio.size or 0)
        begun, status = time.monotonic(), _INTERNAL
        try:
            planned = plan(await services.store.snapshot(), request.model, request.task, call)
            again = _Again(replace(request, model=planned.model))
            reply = await fallback.walk(services, planned.entry, planned.accounts, again, call)
            status = 200
        except OpenProxyError as error:
            status = error.status
            raise
        finally:
            services.note(call, status, time.monotonic() - begun)
        if not isinstance(reply.answer, Transcript):
            raise UpstreamError(502, f"{planned.entry.name} gave no transcript")
        return whole(reply.answer)


class There(ProviderModel):
    """Through a running server, which renders what its provider answers."""

    def __init__(self, model: str, target: Target):
        super().__init__(model)
        self._target = target
        self._client: Client = self._run(self._open.enter_async_context(Client()))
        self._formats: list[str] | None = None
        """What the server says of the model, once it was asked; empty where it says nothing."""

    async def _may_tell_times(self) -> bool:
        # the server would refuse the format after its provider has done the work
        if self._formats is None:
            self._formats = await self._known_formats()
        return not self._formats or "verbose_json" in self._formats

    async def _known_formats(self) -> list[str]:
        url = f"{self._target.url}/v1/models/info?id={quote(self._model, safe='')}"
        try:
            answer = await self._client.get(url, self._connection, self._authorization)
            told = json.loads(await answer.read())
        except (OpenProxyError, ValueError):
            return []
        found = told.get("formats") if isinstance(told, dict) else None
        return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []

    async def _transcribe(self, request: TranscriptionRequest) -> Transcript:
        route: dict[Task, str] = {"transcribe": "transcriptions", "translate": "translations"}
        url = f"{self._target.url}/v1/audio/{route[request.task]}"
        fields = [("model", request.model), *request.fields]
        part = media_types.openai_part(request.filename)
        body = bodies.multipart(request.boundary, part, request.audio, fields, tuple)
        headers = {FORMATS: "rendered", **self._authorization}
        answer = await self._client.post(url, self._connection, headers, body)
        return openai_answers.read(await answer.read(), answer.content_type, "the server", request)

    @property
    def _connection(self) -> Connection:
        return Connection("server", "openai", self._target.key or "")

    @property
    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._target.key}"} if self._target.key else {}


class Kept:
    """A recording in a file or in memory, to be read as often as needed."""

    reopenable = True

    def __init__(self, source: Path | bytes):
        self._source = source
        self.size: int | None = len(source) if isinstance(source, bytes) else source.stat().st_size

    async def chunks(self) -> AsyncIterator[bytes]:
        """All its bytes, in pieces of at most CHUNK_BYTES; a file is read off the event loop."""
        if isinstance(self._source, bytes):
            for start in range(0, len(self._source), CHUNK_BYTES):
                yield self._source[start : start + CHUNK_BYTES]
            return
        reader = await asyncio.to_thread(self._source.open, "rb")
        try:
            while piece := await asyncio.to_thread(reader.read, CHUNK_BYTES):
                yield piece
        finally:
            reader.close()

    def late_fields(self) -> Sequence[Field]:
        """None: every field is known from the beginning."""
        return ()


class _Again:
    """The same request for every account."""

    def __init__(self, request: TranscriptionRequest):
        self._request = request

    async def request(self) -> TranscriptionRequest:
        """See `fallback.Source`."""
        return self._request


def _fields(options: Options, formats: Collection[str]) -> list[Field]:
    """The form fields that ask for what the formats need."""
    fields: list[Field] = []
    if options.language:
        fields.append(("language", options.language))
    if options.prompt:
        fields.append(("prompt", options.prompt))
    if options.temperature is not None:
        fields.append(("temperature", f"{options.temperature:g}"))
    if "diarized_json" in formats:
        return [*fields, ("response_format", "diarized_json"), ("diarize", "true")]
    if not any(name in formats for name in _TIMED):
        return [*fields, ("response_format", "json")]
    fields.append(("response_format", "verbose_json"))
    wanted = ("segment", "word") if options.word_timestamps or {"srt", "vtt"} & set(formats) else ("segment",)
    return [*fields, *(("timestamp_granularities[]", value) for value in wanted)]
