"""The server-sent events of OpenAI's transcription stream (contracts/upstreams.md, D.1), as objects to be framed."""

from collections.abc import Iterable, Iterator
from typing import Any

from openproxy.formats import json
from openproxy.transcript import Segment, Transcript


def delta(text: str) -> dict[str, Any]:
    """`transcript.text.delta`: the text that has come since the last one."""
    return {"type": "transcript.text.delta", "delta": text}


def segment(segment: Segment, index: int) -> dict[str, Any]:
    """`transcript.text.segment`: a finished segment and its speaker; `index` counts them from 0."""
    return json.diarized_segment(segment, index)


def done(transcript: Transcript) -> dict[str, Any]:
    """`transcript.text.done`: the whole text; usage only where tokens were counted, as OpenAI's types allow no other."""
    tokens = json.tokens_used(transcript.usage)
    event: dict[str, Any] = {"type": "transcript.text.done", "text": transcript.text}
    return event if tokens is None else event | {"usage": tokens}


class Deltas:
    """Turns the texts of segments, one after another, into deltas that joined give the text of the transcript.

    White space before the first word is dropped; white space after the last one is never sent, because it is held
    until more text follows.
    """

    def __init__(self) -> None:
        self._begun = False
        self._held = ""

    def push(self, text: str) -> str:
        """What to send now that `text` has come; empty where there is nothing to send yet."""
        pending = self._held + text
        ready = pending.rstrip()
        self._held = pending[len(ready) :]
        if not ready:
            return ""
        if not self._begun:
            self._begun = True
            ready = ready.lstrip()
        return ready


def deltas(segments: Iterable[Segment]) -> Iterator[str]:
    """The deltas of a sequence of segments, none of them empty."""
    state = Deltas()
    for part in segments:
        ready = state.push(part.text)
        if ready:
            yield ready
