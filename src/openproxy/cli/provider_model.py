"""A provider's model for `openproxy transcribe`: through the gateway's own code with the stored accounts, or a server."""

import asyncio
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Coroutine, Generator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from openproxy import formats, media_types
from openproxy.cli.client import Target
from openproxy.engine.models import Item, ModelFacts, Options
from openproxy.errors import OpenProxyError
from openproxy.gateway import local
from openproxy.gateway.services import Services, Settings, running
from openproxy.gateway.transcriptions import FORMATS
from openproxy.providers import bodies, openai_answers
from openproxy.providers.http import Client
from openproxy.transcript import Task, Transcript
from openproxy.upload import Connection, Field, Kept, TranscriptionRequest

_BAD_REQUEST = 400


class ProviderModel(ABC):
    """The model `provider/model`, asked on an event loop in a thread of its own."""

    facts: ModelFacts | None = None

    def __init__(self, model: str):
        self._model = model
        self._loop = asyncio.new_event_loop()
        self._open = AsyncExitStack()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def stream(
        self, source: Path | bytes, name: str, options: Options, names: Collection[str], *, times: bool = False
    ) -> Generator[Item, None, None]:
        """Send the recording; its transcript comes in one piece."""
        request = TranscriptionRequest(
            model=self._model,
            audio=Kept(source),
            filename=Path(name).name,
            fields=tuple(_fields(options, names)),
            task="translate" if options.translate else "transcribe",
            rendered=True,
        )
        timed = replace(request, fields=tuple(_fields(options, (*names, "verbose_json")))) if times else request
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

    @abstractmethod
    async def _transcribe(self, request: TranscriptionRequest) -> Transcript:
        """The answer to one request."""


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
        return await local.transcribe(self._services, request)


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


def _fields(options: Options, names: Collection[str]) -> list[Field]:
    """The form fields that ask for what the formats need."""
    fields: list[Field] = []
    if options.language:
        fields.append(("language", options.language))
    if options.prompt:
        fields.append(("prompt", options.prompt))
    if options.temperature is not None:
        fields.append(("temperature", f"{options.temperature:g}"))
    if "diarized_json" in names:
        return [*fields, ("response_format", "diarized_json"), ("diarize", "true")]
    if not any(name in names for name in formats.TIMED):
        return [*fields, ("response_format", "json")]
    fields.append(("response_format", "verbose_json"))
    wanted = ("segment", "word") if options.word_timestamps or set(formats.SUBTITLES) & set(names) else ("segment",)
    return [*fields, *(("timestamp_granularities[]", value) for value in wanted)]
