"""The OpenAI wire: multipart in, the upstream's own answer out (contracts/gateway.md, sections 3.2, 3.3, decision 9)."""

from collections.abc import Collection, Iterable, Iterator

from openproxy import languages, media_types
from openproxy.errors import BadRequest
from openproxy.providers import addresses, bodies, credentials, openai_answers, reading
from openproxy.providers.catalog import Entry
from openproxy.providers.exchange import refuse_translation
from openproxy.providers.http import Answer, Client
from openproxy.providers.replies import MADE_BY_GATEWAY, Reply, Verbatim, ignored, plain
from openproxy.transcript import Transcript
from openproxy.upload import LIST_FIELDS, Connection, Field, TranscriptionRequest

_LEADING = ("language", "prompt", "response_format", "temperature")
"""Sent first, in this order."""
_FOR_TRANSLATIONS = ("prompt", "response_format", "temperature")
"""All that the translations endpoint takes (contracts/upstreams.md, D.1)."""
_SCALARS = ("stream", "chunking_strategy", "hotwords")
_EVENTS = "text/event-stream"


class OpenAIWire:
    """OpenAI, Groq and every server that speaks as they do."""

    def __init__(self, entry: Entry):
        self.entry = entry

    async def transcribe(self, request: TranscriptionRequest, connection: Connection, client: Client) -> Reply:
        """See `Provider.transcribe`: verbatim by default, a Transcript where the request is rendered."""
        refuse_translation(self.entry, request)
        url = _address(self.entry, request, connection)
        body = bodies.multipart(
            request.boundary,
            media_types.openai_part(request.filename, request.content_type),
            request.audio,
            _ahead(self.entry, request),
            lambda: _behind(request),
        )
        headers = credentials.header(self.entry, connection, url)
        answer = await client.post(url, connection, headers, body)
        result: Transcript | Verbatim
        if request.rendered:
            result = openai_answers.read(await answer.read(), answer.content_type, self.entry.name, request)
        else:
            result = await _verbatim(answer)
        usable = _usable(request)
        return Reply(result, ignored(request, usable, late=usable))


def _address(entry: Entry, request: TranscriptionRequest, connection: Connection) -> str:
    url = addresses.resolve(entry, connection)
    if request.task == "transcribe":
        return url
    translations = addresses.sibling(url, "transcriptions", "translations")
    if translations is None:
        raise BadRequest("The baseUrl of this connection has no translations endpoint beside it", param="model")
    return translations


def _usable(request: TranscriptionRequest) -> frozenset[str]:
    """The fields that this request can send, without brackets; what the gateway makes itself is asked for by it."""
    if request.task == "translate":
        names = frozenset(_FOR_TRANSLATIONS)
    else:
        names = frozenset((*_LEADING, *_SCALARS, *LIST_FIELDS))
    return names - MADE_BY_GATEWAY - {"include"} if request.rendered else names


def _ahead(entry: Entry, request: TranscriptionRequest) -> Iterator[Field]:
    """The fields known before the file: the model, then the specification's own, then decision 9's in their order."""
    usable = _usable(request)
    yield "model", request.model
    for name in _LEADING:
        if name in usable:
            yield from _leading(name, request.value(name))
    yield from _further(request.fields, usable)
    if request.rendered:
        yield from openai_answers.wanted(entry, request)


def _behind(request: TranscriptionRequest) -> Iterator[Field]:
    """The fields that followed the file, which go behind it."""
    usable = _usable(request)
    for name, value in request.audio.late_fields():
        if name in _LEADING and name in usable:
            yield from _leading(name, value.strip())
        else:
            yield from _further([(name, value)], usable)


def _leading(name: str, value: str | None) -> Iterator[Field]:
    if name == "language":
        value = languages.for_upstream(value, regions=False)
    if value:
        yield name, value


def _further(fields: Iterable[Field], usable: Collection[str]) -> Iterator[Field]:
    """Each value of decision 9's fields; lists under their name with brackets, however they were written."""
    for name, value in fields:
        bare = plain(name)
        if bare in usable and value.strip():
            if bare in LIST_FIELDS:
                yield f"{bare}[]", value
            elif bare in _SCALARS:
                yield name, value


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
