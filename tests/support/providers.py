"""What every test of a provider needs: a request around some bytes, an account, and the provider called once."""

from collections.abc import AsyncIterator, Iterable, Sequence

from openproxy import providers
from openproxy.providers.http import Client, Limits
from openproxy.providers.replies import Reply
from openproxy.upload import Connection, Field, Kept, TranscriptionRequest, Upload

AUDIO = b"RIFF\x00--\r\n" + bytes(range(256)) * 3
SECRET = "test-key-0123456789abcdef"
BOUNDARY = "0123456789abcdef"


class Passing:
    """A recording that arrives in pieces, once, and whose length nobody knows."""

    size = None
    reopenable = False

    def __init__(self, pieces: Iterable[bytes], late: Sequence[Field] = ()):
        self._pieces = pieces
        self._late = late

    async def chunks(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece

    def late_fields(self) -> Sequence[Field]:
        return self._late


def spooled(data: bytes = AUDIO, late: Sequence[Field] = ()) -> Kept:
    """`data` as a finished upload."""
    upload = Upload()
    upload.write(data)
    upload.finish()
    return Kept(upload.source, late)


def asked(
    model: str,
    *fields: Field,
    audio: Kept | Passing | None = None,
    filename: str = "clip.wav",
    content_type: str | None = None,
    rendered: bool = False,
    translate: bool = False,
) -> TranscriptionRequest:
    """A request with a fixed boundary."""
    return TranscriptionRequest(
        model,
        audio or spooled(),
        filename,
        content_type,
        fields,
        "translate" if translate else "transcribe",
        rendered,
        BOUNDARY,
    )


def account(provider: str, base_url: str | None, **options: object) -> Connection:
    """A connection with the test's secret; `auth_scheme` among the options is its scheme."""
    scheme = options.pop("auth_scheme", None)
    return Connection("c1", provider, SECRET, base_url, scheme if isinstance(scheme, str) else None, options)


async def transcribe(request: TranscriptionRequest, connection: Connection, limits: Limits | None = None) -> Reply:
    """The provider's answer, over a client of its own."""
    provider = providers.get(connection.provider)
    assert provider is not None
    async with Client(limits) as client:
        return await provider.transcribe(request, connection, client)
