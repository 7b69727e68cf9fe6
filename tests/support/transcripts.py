"""Transcripts written down by hand, for tests of what is made from them."""

from openproxy.transcript import Segment, Word


def words(
    text: str, start: float = 0.0, *, each: float = 0.3, gap: float = 0.05, speaker: str | None = None
) -> Segment:
    """A segment of evenly spoken words."""
    found = []
    for word in text.split(" "):
        found.append(Word(f" {word}", start, start + each, speaker=speaker))
        start = start + each + gap
    return Segment(f" {text}", found[0].start, found[-1].end, tuple(found), speaker)
