"""Where a transcript ends before its recording does: after so many tokens, or at a stop string."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from openproxy.transcript import Segment, Word


class Ending:
    """Lets segments through until the limit. Segments that may hold the beginning of a stop string wait for the next.

    `text_of` decodes text tokens; ids from `first_special` on are no text (timestamps, control tokens).
    """

    def __init__(
        self,
        max_tokens: int | None,
        stop: Sequence[str],
        *,
        text_of: Callable[[list[int]], str],
        first_special: int,
    ):
        self._left = None if max_tokens is None or max_tokens < 0 else max(max_tokens, 1)
        self._stop = tuple(text for text in stop if text)
        self._text_of = text_of
        self._first_special = first_special
        self._held: list[Segment] = []
        self.tokens = 0
        """Text tokens sampled for what was let through."""
        self.reached = False
        """Whether the transcript is complete."""

    def feed(self, segment: Segment) -> Iterator[Segment]:
        """What of the held segments and this one belongs to the transcript for certain."""
        if self._left is not None:
            segment = self._within_limit(segment, self._left)
        self._held.append(segment)
        text = "".join(part.text for part in self._held)
        found = min((at for at in map(text.find, self._stop) if at >= 0), default=None)
        if found is not None:
            self.reached = True
            self._held = _first(self._held, found)
            yield from self._release()
        elif self.reached or not any(_may_begin(text, stop) for stop in self._stop):
            yield from self._release()

    def flush(self) -> Iterator[Segment]:
        """What is still held, at the end of the recording."""
        yield from self._release()

    def _release(self) -> Iterator[Segment]:
        held, self._held = self._held, []
        for segment in held:
            self.tokens += sum(token < self._first_special for token in segment.tokens)
            yield segment

    def _within_limit(self, segment: Segment, left: int) -> Segment:
        places = [at for at, token in enumerate(segment.tokens) if token < self._first_special]
        self._left = left - len(places)
        if len(places) < left:
            return segment
        self.reached = True
        kept = segment.tokens[: places[left - 1] + 1]
        text = self._text_of([token for token in kept if token < self._first_special]).rstrip("\ufffd")
        return replace(_shortened(segment, min(len(text), len(segment.text))), tokens=kept)


def _may_begin(text: str, stop: str) -> bool:
    """Whether `text` ends with a beginning of `stop`."""
    return any(text.endswith(stop[:length]) for length in range(1, len(stop)))


def _first(segments: list[Segment], length: int) -> list[Segment]:
    """The first `length` characters of the joined texts, without the white space before the cut."""
    kept = []
    for segment in segments:
        text = segment.text if length >= len(segment.text) else segment.text[: max(length, 0)].rstrip()
        length -= len(segment.text)
        if text:
            kept.append(_shortened(segment, len(text)))
    return kept


def _shortened(segment: Segment, length: int) -> Segment:
    """The first `length` characters of a segment, with the words in them."""
    if length >= len(segment.text):
        return segment
    words: list[Word] = []
    left = length
    for word in segment.words:
        if left <= 0:
            break
        words.append(replace(word, text=word.text[:left]))
        left -= len(word.text)
    end = words[-1].end if words else segment.end
    return replace(segment, text=segment.text[:length], words=tuple(words), end=end)
