"""The steps of a provider that answers in one exchange: address, headers, body, reading. A vendor's file fills them in."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

from openproxy.errors import BadRequest
from openproxy.providers import credentials, reading
from openproxy.providers.bodies import Body
from openproxy.providers.catalog import Entry
from openproxy.providers.http import Client
from openproxy.providers.replies import Reply, ignored
from openproxy.transcript import Transcript
from openproxy.upload import Connection, TranscriptionRequest


class SingleExchange(ABC):
    """One POST with the recording, one JSON document in return."""

    label: ClassVar[str]
    """What the vendor is called in `Failed parsing <label> response`."""
    used: ClassVar[frozenset[str]]
    """Names of the request fields that `address` and `body` read, without `[]`."""

    def __init__(self, entry: Entry):
        self.entry = entry

    @abstractmethod
    def address(self, request: TranscriptionRequest, connection: Connection) -> str:
        """The URL with all that goes into its path and query."""

    @abstractmethod
    def body(self, request: TranscriptionRequest) -> Body:
        """The recording as the vendor takes it."""

    @abstractmethod
    def read(self, request: TranscriptionRequest, document: Any) -> Transcript:
        """All that the vendor's answer says."""

    def uses(self, request: TranscriptionRequest) -> frozenset[str]:  # noqa: ARG002
        """The fields that this request's model can use; overridden where that depends on the model."""
        return self.used

    async def transcribe(self, request: TranscriptionRequest, connection: Connection, client: Client) -> Reply:
        """See `Provider.transcribe`."""
        refuse_translation(self.entry, request)
        # of a recording that is whole, the fields that followed it are known before anything is sent
        known = request.audio.reopenable
        asked = with_late_fields(request) if known else request
        url = self.address(asked, connection)
        headers = credentials.header(self.entry, connection, url)
        answer = await client.post(url, connection, headers, self.body(asked))
        document = reading.document(await answer.read(), self.label)
        usable = self.uses(request)
        return Reply(self.read(asked, document), ignored(request, usable, late=usable if known else frozenset()))


def with_late_fields(request: TranscriptionRequest) -> TranscriptionRequest:
    """The request with the fields that followed the file among the others."""
    return replace(request, fields=(*request.fields, *request.audio.late_fields()))


def refuse_translation(entry: Entry, request: TranscriptionRequest) -> None:
    """Raise BadRequest where a translation is asked of a provider that has none."""
    if request.task == "translate" and not entry.translations:
        raise BadRequest(f"Provider '{entry.id}' does not support audio/translations", param="model")
