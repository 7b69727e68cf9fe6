"""The command line's shape: a JSON object with the file in base64, decoded into the spool while it arrives."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from openproxy.errors import BadRequest
from openproxy.gateway import form_fields
from openproxy.gateway.asked import Asked
from openproxy.gateway.exchange import Exchange
from openproxy.gateway.json_audio import AUDIO, Base64Writer, JsonAudio
from openproxy.media_types import DEFAULT_NAME
from openproxy.upload import Field, Kept, Recording

_NO_FIELDS = (AUDIO, "model", "file_name", "provider")
"""Members that are read here, and the one that the specification has ignored."""


class JsonIntake:
    """See `Intake`. Its body is read whole before it is routed, so that it is never sent on while it arrives."""

    complete = False

    def __init__(self, exchange: Exchange, folder: Path | None):
        self._exchange = exchange
        self._audio = Base64Writer(folder)
        self._document: Any = None

    @property
    def size(self) -> int:
        """See `Intake`."""
        return self._audio.upload.size

    async def begin(self) -> None:
        """See `Intake`. Raises BadRequest where the body is not JSON."""
        body = JsonAudio(self._audio)
        while not self._exchange.body_over:
            body.feed(await self._exchange.chunk())
        self._document = body.document()
        given = _text(self._document, AUDIO)
        if given:
            # its name was written with escapes, so that it was not found on the way
            self._audio.restart()
            self._audio.write(given.encode("utf-8", "replace"))
        self._audio.finish()
        self.complete = True

    def asked(self) -> Asked:
        """See `Intake`."""
        model = (_text(self._document, "model") or "").strip()
        if not model:
            raise BadRequest("Missing model", param="model")
        if _text(self._document, AUDIO) is None:
            raise BadRequest(f"Missing required field: {AUDIO}", param=AUDIO)
        if self._audio.error is not None:
            raise BadRequest(f"Invalid base64: {self._audio.error}", param=AUDIO)
        if self.size == 0:
            raise BadRequest("Audio file is empty", param=AUDIO, code="empty_audio")
        name = _text(self._document, "file_name")
        fields = [
            field
            for key, value in self._document.items()
            if key not in _NO_FIELDS
            for field in form_fields.from_json(key, value)
        ]
        return Asked(model, DEFAULT_NAME if name is None else name, None, form_fields.effective(fields))

    def live(self, *, keep: bool) -> Recording:  # noqa: ARG002
        """See `Intake`."""
        return self.spooled()

    async def finish(self) -> None:
        """See `Intake`."""

    def spooled(self) -> Kept:
        """See `Intake`."""
        self._audio.upload.finish()
        return Kept(self._audio.upload.source)

    def late(self) -> Sequence[Field]:
        """See `Intake`."""
        return ()

    def close(self) -> None:
        """See `Intake`."""
        self._audio.upload.close()


def _text(document: Any, name: str) -> str | None:
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, str) else None
