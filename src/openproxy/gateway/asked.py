"""What is read of a request's body, whichever of its two shapes it has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from openproxy.upload import Field, Recording


class Superseded(Exception):
    """Another `file` part has come while the first one was being sent: the last one counts, so that attempt is void."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the client wants, beside the bytes of its file."""

    model: str
    """As the client wrote it, trimmed; never empty."""
    filename: str
    content_type: str | None
    fields: tuple[Field, ...]
    """Those that are known so far; after `live`, those that were known then."""


class Intake(Protocol):
    """A body on its way in. `close()` deletes what was kept of it."""

    @property
    def complete(self) -> bool:
        """Whether the whole body has been read."""

    @property
    def size(self) -> int:
        """Bytes of the file so far."""

    async def begin(self) -> None:
        """Read until the request can be routed: a model is known and the file's first byte has come, else all of it.

        Raises UploadTooLarge, BadRequest for a body that cannot be read, and ClientDisconnect.
        """

    def asked(self) -> Asked:
        """What is known now. Raises BadRequest for what is missing, the model first."""

    def live(self, *, keep: bool) -> Recording:
        """The recording while it arrives; with `keep` it is written to the spool as well. Once, after `begin`."""

    async def finish(self) -> None:
        """Read on to the end, into the spool. Not after a `live` without `keep`, unless that one was superseded."""

    def spooled(self) -> Recording:
        """The whole recording, after `finish`; to be read as often as needed. With the fields of `late`, if there are any."""

    def late(self) -> Sequence[Field]:
        """The fields that have come after `live` began."""

    def close(self) -> None:
        """Delete the spool."""
