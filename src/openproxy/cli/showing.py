"""How transcripts appear on standard output: not at all, one as it comes, one as a document, several in their order."""

from collections.abc import Callable

from openproxy.cli.standard_output import StandardOutput
from openproxy.transcript import Transcript

Render = Callable[[Transcript], bytes]
"""A transcript in the format that was asked for."""


class Showing:
    """Is told what becomes of each recording, known by its index, and shows nothing."""

    def piece(self, text: str, /) -> None:
        """A segment of a recording in work, as it stands in its transcript."""

    def done(self, index: int, name: str, transcript: Transcript, /) -> None:
        """The whole transcript."""

    def failed(self, index: int, /) -> None:
        """There will be no transcript, or no more of it."""


class Live(Showing):
    """The text of one recording as it comes: in all the text format, on a terminal with each segment on its own line."""

    def __init__(self, stdout: StandardOutput):
        self._stdout = stdout
        self._space = ""
        self._begun = False

    def piece(self, text: str, /) -> None:
        """Go on with the text; white space waits for what follows it."""
        text = self._space + text
        bare = text.rstrip()
        self._space = text[len(bare) :]
        if not bare:
            return
        if self._stdout.terminal:
            self._stdout.write(f"{bare.lstrip()}\n")
        else:
            self._stdout.write(bare if self._begun else bare.lstrip())
        self._begun = True

    def done(self, _index: int, _name: str, transcript: Transcript, /) -> None:
        """End the text; write it whole if no segment of it came before."""
        if not self._begun:
            self.piece(transcript.text)
        self._end_line()

    def failed(self, _index: int, /) -> None:
        """End the line that was begun."""
        self._end_line()

    def _end_line(self) -> None:
        if self._begun and not self._stdout.terminal:
            self._stdout.write("\n")


class Document(Showing):
    """One recording, written when it is whole."""

    def __init__(self, stdout: StandardOutput, render: Render):
        self._stdout = stdout
        self._render = render

    def done(self, _index: int, _name: str, transcript: Transcript, /) -> None:
        """Write it."""
        self._stdout.body(self._render(transcript))


class Sections(Showing):
    """Several recordings, each whole, under a line with its name; one that is ready early waits for its turn."""

    def __init__(self, stdout: StandardOutput, render: Render):
        self._stdout = stdout
        self._render = render
        self._ready: dict[int, tuple[str, bytes] | None] = {}
        self._turn = 0
        self._first = True

    def done(self, index: int, name: str, transcript: Transcript, /) -> None:
        """Keep it until those before it are written or failed."""
        self._ready[index] = (name, self._render(transcript))
        self._advance()

    def failed(self, index: int, /) -> None:
        """Leave it out."""
        self._ready[index] = None
        self._advance()

    def _advance(self) -> None:
        while self._turn in self._ready:
            section = self._ready.pop(self._turn)
            self._turn += 1
            if section is not None:
                name, body = section
                self._stdout.write(f"{'' if self._first else chr(10)}==> {name} <==\n")
                self._stdout.body(body)
                self._first = False
