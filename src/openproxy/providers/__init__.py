"""Speech to text at other people's servers: one file per wire format behind one protocol.

`get("deepgram")` is a Provider; `http.Client` is the session that all of them share; `catalog.PROVIDERS` says what
each takes. How to add one: docs/providers.md.
"""

from typing import TYPE_CHECKING, Protocol

from openproxy.providers.catalog import PROVIDERS, Entry
from openproxy.upload import Connection, TranscriptionRequest

if TYPE_CHECKING:
    from openproxy.providers.http import Client
    from openproxy.providers.replies import Reply


class Provider(Protocol):
    """One of the seven. It holds no state: one instance serves every request and every account."""

    entry: Entry

    async def transcribe(self, request: TranscriptionRequest, connection: Connection, client: "Client") -> "Reply":
        """Send the recording to the account `connection`, and read the answer.

        The recording is read while it is sent. Raises BadRequest for a request that this provider cannot serve
        whatever the account, UpstreamError for what the upstream answers or fails to answer, and whatever reading
        the recording raises. No message holds a secret or an address. Cancelling closes the upstream connection.
        """


def get(provider_id: str) -> Provider | None:
    """The provider of that canonical id; None where it has no speech to text."""
    entry = PROVIDERS.get(provider_id)
    if entry is None:
        return None
    # each wire format brings the HTTP client with it, which the catalogue alone does not need
    match entry.wire:
        case "openai":
            from openproxy.providers.openai import OpenAIWire

            return OpenAIWire(entry)
        case "deepgram":
            from openproxy.providers.deepgram import Deepgram

            return Deepgram(entry)
        case "assemblyai":
            from openproxy.providers.assemblyai import AssemblyAI

            return AssemblyAI(entry)
        case "huggingface":
            from openproxy.providers.huggingface import HuggingFace

            return HuggingFace(entry)
        case "gemini":
            from openproxy.providers.gemini import Gemini

            return Gemini(entry)
