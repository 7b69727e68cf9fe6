"""From what a chat model writes to what was said: without thinking, without the heading of some models, up to a stop string.

Each filter takes text in pieces of any size, gives what is certain, and at the end what it still held.
"""

from collections.abc import Sequence

_OPEN, _CLOSE = "<think>", "</think>"
_HEADING, _TAG = "language", "<asr_text>"
_LONGEST_NAME = 60
"""Characters of the language in a heading; more is no heading."""


def begun(text: str, marks: Sequence[str]) -> int:
    """How many characters at the end of `text` may be the beginning of one of `marks`."""
    longest = min(len(text), max(map(len, marks), default=1) - 1)
    return next(
        (length for length in range(longest, 0, -1) if any(mark.startswith(text[-length:]) for mark in marks)), 0
    )


class Thinking:
    """Takes out `<think>...</think>`, closed or not, with the white space behind it."""

    def __init__(self, *, inside: bool = False):
        self._inside = inside
        self._trim = inside
        self._held = ""

    def feed(self, piece: str) -> str:
        """What of the text so far is no thinking."""
        text, self._held = self._held + piece, ""
        shown = ""
        while True:
            mark = _CLOSE if self._inside else _OPEN
            if not self._inside and self._trim:
                text = text.lstrip()
            before, found, after = text.partition(mark)
            if not found:
                break
            shown += "" if self._inside else before
            self._inside = not self._inside
            self._trim = True
            text = after
        kept = begun(text, (mark,))
        certain, self._held = text[: len(text) - kept], text[len(text) - kept :]
        if not self._inside and certain:
            self._trim = False
            shown += certain
        return shown

    def end(self) -> str:
        """What is left."""
        text, self._held = self._held, ""
        return "" if self._inside else text


class Heading:
    """Takes off `language English<asr_text>` at the very start; `language` is then what it named."""

    def __init__(self) -> None:
        self.language: str | None = None
        """The name of the language in the heading; None without one, or where it says None."""
        self._held = ""
        self._past = False
        self._trim = False

    def feed(self, piece: str) -> str:
        """What of the text so far follows the heading, once it is certain whether there is one."""
        if self._past:
            return self._trimmed(piece)
        self._held += piece
        head, tag, rest = self._held.partition(_TAG)
        if tag and self._named(head):
            self._past = self._trim = True
            self._held = ""
            return self._trimmed(rest)
        if not tag and _may_be_heading(self._held):
            return ""
        return self.end()

    def end(self) -> str:
        """What is left."""
        text, self._held = self._held, ""
        self._past = True
        return text

    def _named(self, head: str) -> bool:
        """Whether `head` is what stands before the tag in a heading; notes the language."""
        text = head.strip()
        if "<" in head or not _may_be_heading(head):
            return False
        name = text[len(_HEADING) :].strip()
        if text and not name:
            return False
        self.language = name if name and name.lower() != "none" else None
        return True

    def _trimmed(self, text: str) -> str:
        if self._trim:
            text = text.lstrip()
            self._trim = not text
        return text


def _may_be_heading(text: str) -> bool:
    """Whether `text`, in which the tag is not complete yet, can still become a heading."""
    text = text.lstrip()
    word, rest = text[: len(_HEADING)], text[len(_HEADING) :]
    if _TAG.startswith(text) or not rest:
        return _TAG.startswith(text) or _HEADING.startswith(word)
    name, opened, tag = rest.partition("<")
    named = word == _HEADING and name[:1].isspace() and "\n" not in name.rstrip() and len(name) <= _LONGEST_NAME
    return named and (not opened or _TAG.startswith(opened + tag))


class StopAt:
    """Ends the text at the first of the stop strings; what may become one is held back."""

    def __init__(self, stop: Sequence[str]):
        self._stop = tuple(text for text in stop if text)
        self._held = ""
        self.found: str | None = None
        """The stop string that came."""

    def feed(self, piece: str) -> str:
        """What of the text so far stands before a stop string for certain; nothing more once one was found."""
        if self.found is not None:
            return ""
        if not self._stop:
            return piece
        text = self._held + piece
        places = [(at, -len(stop), stop) for stop in self._stop if (at := text.find(stop)) >= 0]
        if places:
            at, _, self.found = min(places)
            self._held = ""
            return text[:at]
        kept = begun(text, self._stop)
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept]

    def end(self) -> str:
        """What is left."""
        text, self._held = self._held, ""
        return text
