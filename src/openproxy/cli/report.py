"""What a run says on standard error: nothing, plain lines, or moving bars on a terminal."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from openproxy.engine.models import Progress

_LINE_EVERY = 10.0
"""Seconds between two lines about the same recording where there is no terminal."""


class Report:
    """Is told what happens, and says nothing. Recordings are known by their index; one thread does the telling."""

    def started(self, index: int, name: str, /) -> None:
        """Work on this recording has begun."""

    def advanced(self, index: int, progress: Progress, /) -> None:
        """It has come so far."""

    def ended(self, index: int, /) -> None:
        """Work on it is over, well or not."""

    def downloading(self, done: int, total: int, /) -> None:
        """So many bytes of the model are here. May be called from other threads."""

    def say(self, line: str, /) -> None:
        """Show one line."""

    @contextmanager
    def writing(self) -> Iterator[None]:
        """While this lasts, standard output may be written without touching what is shown."""
        yield

    def close(self) -> None:
        """Leave the terminal as it was."""


class Lines(Report):
    """A line for each thing said, and now and then one about a long recording that is worked on."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._begun: dict[int, tuple[str, float]] = {}
        self._said: dict[int, float] = {}
        self._download_said = float("-inf")

    def started(self, index: int, name: str, /) -> None:
        """Note the time."""
        now = time.monotonic()
        self._begun[index], self._said[index] = (name, now), now

    def advanced(self, index: int, progress: Progress, /) -> None:
        """Say so if nothing was said for a while."""
        now = time.monotonic()
        if now - self._said[index] >= _LINE_EVERY:
            self._said[index] = now
            name, begun = self._begun[index]
            self.say(f"{name}: {place(progress)} ({speed(progress.seconds, now - begun)})")

    def downloading(self, done: int, total: int, /) -> None:
        """Say so at the beginning and now and then."""
        now = time.monotonic()
        if now - self._download_said >= _LINE_EVERY:
            self._download_said = now
            self.say(f"downloading the model: {done / 1e6:.0f} of {total / 1e6:.0f} MB")

    def say(self, line: str, /) -> None:
        """Write the line."""
        # a transcript is worth more than what is said about it
        with suppress(OSError):
            self._stream.write(f"{printable(line)}\n")
            self._stream.flush()


class Bars(Report):
    """A bar for each recording in work, lines above them; `shared` where standard output is on the same terminal."""

    def __init__(self, stream: TextIO, *, shared: bool):
        from rich import progress
        from rich.console import Console

        self._console = Console(file=stream, highlight=False)
        self._bars = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=16),
            progress.TextColumn("{task.fields[place]}", markup=False),
            progress.TextColumn("{task.fields[speed]}", markup=False),
            progress.TimeRemainingColumn(compact=True),
            console=self._console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._shared = shared
        self._tasks: dict[int, Any] = {}
        self._begun: dict[int, float] = {}
        self._download: Any = None
        self._bars.start()

    def started(self, index: int, name: str, /) -> None:
        """Add its bar."""
        self._begun[index] = time.monotonic()
        self._tasks[index] = self._bars.add_task(_short(printable(name)), total=None, place="", speed="")

    def advanced(self, index: int, progress: Progress, /) -> None:
        """Move its bar."""
        elapsed = time.monotonic() - self._begun[index]
        self._bars.update(
            self._tasks[index],
            total=progress.total,
            completed=progress.seconds,
            place=place(progress),
            speed=speed(progress.seconds, elapsed),
        )

    def downloading(self, done: int, total: int, /) -> None:
        """Move the bar of the model, which goes when all of it is here."""
        if self._download is None:
            self._download = self._bars.add_task("model", total=total, place="", speed="")
        self._bars.update(
            self._download,
            total=total,
            completed=done,
            place=f"{done / 1e6:.0f} of {total / 1e6:.0f} MB",
            visible=done < total,
        )

    def ended(self, index: int, /) -> None:
        """Take its bar away."""
        self._bars.remove_task(self._tasks.pop(index))

    def say(self, line: str, /) -> None:
        """Write the line above the bars."""
        self._console.print(printable(line), markup=False, soft_wrap=True)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Clear the bars from a shared terminal, and draw them again afterwards."""
        if self._shared:
            self._bars.stop()
        yield
        if self._shared:
            self._bars.start()

    def close(self) -> None:
        """Clear the bars for good."""
        self._bars.stop()


def choose(*, quiet: bool, shared: bool) -> Report:
    """The report that fits: none where `quiet`, bars where standard error is a terminal, lines elsewhere.

    `shared` says whether standard output is a terminal, which then is taken for the same one.
    """
    if quiet:
        return Report()
    return Bars(sys.stderr, shared=shared) if sys.stderr.isatty() else Lines(sys.stderr)


def clock(seconds: float) -> str:
    """`4:07`, or `1:02:03` from an hour on."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def place(progress: Progress) -> str:
    """`4:07 of 1:02:03`, or how far alone where the length is not known."""
    return clock(progress.seconds) + ("" if progress.total is None else f" of {clock(progress.total)}")


def speed(seconds: float, elapsed: float) -> str:
    """How many seconds of the recording are done in one second: `17.3x real time`."""
    return f"{seconds / max(elapsed, 0.001):.1f}x real time"


def printable(text: str) -> str:
    """`text` on one line, with what a terminal would obey or cannot show (escapes, broken bytes) spelled out."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _short(name: str, limit: int = 20) -> str:
    return name if len(name) <= limit else f"...{name[3 - limit :]}"
