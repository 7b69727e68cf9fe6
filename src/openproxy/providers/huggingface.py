"""Hugging Face: raw audio to the model's own path (contracts/gateway.md, section 3.6; upstreams.md, D.6)."""

from typing import Any

from openproxy import formats
from openproxy.media_types import upstream_type
from openproxy.providers import addresses, bodies, timing
from openproxy.providers.exchange import SingleExchange
from openproxy.providers.reading import entries, number, text
from openproxy.transcript import Segment, Transcript
from openproxy.upload import Connection, TranscriptionRequest


class HuggingFace(SingleExchange):
    """The inference router, or whatever serves models the same way."""

    label = "HF"
    used = frozenset[str]()

    def address(self, request: TranscriptionRequest, connection: Connection) -> str:
        """The model below the base address, each of its segments encoded."""
        base = addresses.resolve(self.entry, connection)
        return addresses.below(base, *addresses.model_segments(request.model))

    def body(self, request: TranscriptionRequest) -> bodies.Body:
        """The recording as it is; inside JSON where times are needed, which only a parameter can ask for."""
        if request.rendered and request.value("response_format") in formats.TIMED:
            return bodies.json_with_audio(
                lambda data: {"inputs": data, "parameters": {"return_timestamps": True}}, request.audio
            )
        return bodies.raw(request.audio, upstream_type(request.filename, request.content_type))

    def read(self, request: TranscriptionRequest, document: Any) -> Transcript:  # noqa: ARG002
        """The text, and the chunks with their times where there are some."""
        said, segments = text(document, "text"), _segments(document)
        return Transcript(said.strip() if segments else said, segments=timing.held(segments, said))


def _segments(document: Any) -> list[Segment]:
    return [
        Segment(one.text, one.start, one.end)
        for one in timing.stretches(entries(document, "chunks"), "text", _timestamp)
    ]


def _timestamp(chunk: Any) -> tuple[float | None, float | None]:
    return number(chunk, "timestamp", 0), number(chunk, "timestamp", 1)
