"""The OpenAI wire: multipart in, the upstream's own answer out (contracts/gateway.md, sections 3.2, 3.3, decision 9)."""

from collections.abc import Iterable, Iterator

from openproxy import languages, media_types
from openproxy.errors import BadRequest
from openproxy.providers import addresses, bodies, credentials, openai_answers, reading
from openproxy.providers.catalog import Entry
from openproxy.providers.exchange import refuse_translation
from openproxy.providers.http import Answer, Client
from openproxy.providers.replies import MADE_BY_GATEWAY, Reply, Verbatim, plain, printable
from openproxy.upload import Connection, Field, TranscriptionRequest

_LEADING = ("language", "prompt", "response_format", "temperature")
"""Sent first, in this order."""
_FOR_TRANSLATIONS = ("prompt", "response_format", "temperature")
"""All that the translations endpoint takes (contracts/upstreams.md, D.1)."""
_SCALARS = ("stream", "chunking_strategy", "hotwords")
_LISTS = (
    "timestamp_granularities",
    "include",
    "known_speaker_names",
    "known_speaker_references",
    "languages",
    "keywords",
)
_EVENTS = "text/event-stream"


class OpenAIWire:
    """OpenAI, Groq and every server that speaks as they do."""

    def __init__(self, entry: Entry):
        self.entry = entry

    async def transcribe(self, request: TranscriptionRequest, connection: Connection, client: Client) -> Reply:
        """See `Provider.transcribe`: verbatim by default, a Transcript where the request is rendered."""
        refuse_translation(self.entry, request)
        url = _address(self.entry, request, connection)
        form = _Form(self.entry, request)
        body = bodies.multipart(
            request.boundary,
            media_types.openai_part(request.filename, request.content_type),
            request.audio,
            form.fields,
            lambda: form.late(request.audio.late_fields()),
        )
        headers = credentials.header(self.entry, connection, url)
        answer = await client.post(url, connection, headers, body)
        if not request.rendered:
            return Reply(await _verbatim(answer), form.ignored())
        transcript = openai_answers.read(await answer.read(), answer.content_type, self.entry.name, request)
        return Reply(transcript, form.ignored())


def _address(entry: Entry, request: TranscriptionRequest, connection: Connection) -> str:
    url = addresses.resolve(entry, connection)
    if request.task == "transcribe":
        return url
    translations = addresses.sibling(url, "transcriptions", "translations")
    if translations is None:
        raise BadRequest("The baseUrl of this connection has no translations endpoint beside it", param="model")
    return translations


class _Form:
    """The form fields that go upstream, and those that cannot."""

    def __init__(self, entry: Entry, request: TranscriptionRequest):
        self._request = request
        self._made = request.rendered
        self._dropped: list[str] = []
        self.fields: tuple[Field, ...] = (
            ("model", request.model),
            *self._leading(),
            *self._further(request.fields),
            *(openai_answers.wanted(entry, request) if request.rendered else ()),
        )

    def late(self, fields: Iterable[Field]) -> tuple[Field, ...]:
        """Those of the fields after the file that can still go behind it."""
        return tuple(self._further(fields, leading=True))

    def ignored(self) -> tuple[str, ...]:
        """Names of the fields that did not go."""
        return printable(self._dropped)

    def _leading(self) -> Iterator[Field]:
        """The last value of each of the fields that the specification names."""
        for name in _LEADING:
            value = self._request.value(name)
            if value is not None and self._sendable(name):
                if name == "language":
                    value = languages.for_upstream(value, regions=False)
                if value:
                    yield name, value

    def _further(self, fields: Iterable[Field], *, leading: bool = False) -> Iterator[Field]:
        """The other fields, each value, in the order received; lists under their name with brackets."""
        for name, value in fields:
            bare = plain(name)
            if not value.strip():
                continue
            if not self._sendable(bare):
                if not (self._made and bare in MADE_BY_GATEWAY):
                    self._dropped.append(name)
            elif bare in _LISTS:
                yield f"{bare}[]", value
            elif bare in _SCALARS:
                yield name, value
            elif leading:
                yield from self._late_leading(bare, value.strip())

    def _late_leading(self, name: str, value: str) -> Iterator[Field]:
        spoken = languages.for_upstream(value, regions=False) if name == "language" else value
        if spoken:
            yield name, spoken

    def _sendable(self, name: str) -> bool:
        if self._made and (name in MADE_BY_GATEWAY or name == "include"):
            return False
        if self._request.task == "translate":
            return name in _FOR_TRANSLATIONS
        return name in _LEADING or name in _SCALARS or name in _LISTS


async def _verbatim(answer: Answer) -> Verbatim:
    """The answer as it is: an event stream while it arrives, anything else once it is complete.

    So an answer that is cut short is a 502 and never half a transcript (contracts/gateway.md, B24).
    """
    content_type = answer.content_type
    if content_type is not None and media_types.bare(content_type) == _EVENTS:
        return Verbatim(content_type, answer)
    body = await answer.read()
    if content_type is None:
        content_type = "application/json" if reading.is_json(body) else "text/plain; charset=utf-8"
    return Verbatim(content_type, body)
