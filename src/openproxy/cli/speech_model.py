"""What turns a recording into a transcript for `openproxy transcribe`: a model loaded here, or one behind the gateway."""

from collections.abc import Callable, Collection, Generator
from pathlib import Path
from typing import Protocol

from openproxy.engine.models import Item, ModelFacts, Options, Transcriber

Downloading = Callable[[int, int], None]
"""Is told how many bytes of a model are here, and how many there are."""


class SpeechModel(Protocol):
    """A model that is ready for work. Several recordings may be in work at once, each in a thread of its own."""

    facts: ModelFacts | None
    """What it can do; None where only trying tells."""

    def stream(
        self, source: Path | bytes, name: str, options: Options, formats: Collection[str], *, times: bool = False
    ) -> Generator[Item, None, None]:
        """Transcribe the recording `source`, called `name`, of which `formats` are going to be made.

        With `times` its segments are told beside them, where there are any. Raises OpenProxyError, OSError.
        """

    def close(self) -> None:
        """Let go of it."""


class LocalModel:
    """A model in this process."""

    def __init__(self, transcriber: Transcriber, max_seconds: float | None):
        self.facts: ModelFacts | None = transcriber.facts
        self._transcriber = transcriber
        self._max_seconds = max_seconds

    def stream(
        self,
        source: Path | bytes,
        name: str,  # noqa: ARG002 - what it is called makes no difference to decoding
        options: Options,
        formats: Collection[str],  # noqa: ARG002 - nor what is made of it
        *,
        times: bool = False,  # noqa: ARG002 - they are always there
    ) -> Generator[Item, None, None]:
        """Decode the recording and transcribe it as it comes."""
        from openproxy.audio import Limits, open_audio

        with open_audio(source, Limits(max_seconds=self._max_seconds)) as audio:
            yield from self._transcriber.stream(audio, options)

    def close(self) -> None:
        """Nothing to let go of: the model ends with the process."""


def load(
    reference: str, *, threads: int, parallel: int, max_seconds: float | None, progress: Downloading
) -> LocalModel:
    """The model that the engine loads for `reference`. Raises ModelUnusable."""
    from openproxy.engine.models.load import load as load_transcriber

    transcriber = load_transcriber(reference, threads=threads, parallel=parallel, progress=progress)
    return LocalModel(transcriber, max_seconds)
