"""The run behind `openproxy transcribe`: load the model once, transcribe all, write what is whole, tell what failed."""

import logging
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from openproxy import formats
from openproxy.cli import batch, outputs, sources
from openproxy.cli.destination import Destination
from openproxy.cli.existing import Policy, judge
from openproxy.cli.inputs import Recording
from openproxy.cli.outputs import Output
from openproxy.cli.report import Report, clock, speed
from openproxy.cli.showing import Document, Live, Sections, Showing
from openproxy.cli.speech_model import Downloading, SpeechModel
from openproxy.cli.standard_output import StandardOutput
from openproxy.engine.models import Item, ModelFacts, Options, Piece, Progress
from openproxy.errors import OpenProxyError
from openproxy.transcript import Segment, Transcript, Word, from_segments

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done, checked as far as it can be before the work."""

    recordings: Sequence[Recording]
    destination: Destination
    open_model: Callable[[Downloading], SpeechModel]
    """Makes the model ready; raises OpenProxyError."""
    options: Options
    jobs: int = 1
    """Recordings at once."""
    existing: Policy = "refuse"
    json_lines: bool = False
    granularities: tuple[str, ...] = ("segment",)
    """Of verbose_json."""


@dataclass(slots=True)
class _Work:
    """One recording that there is something to do for."""

    recording: Recording
    outputs: tuple[Output, ...]
    source: Path | bytes = b""
    begun: float | None = None
    transcript: Transcript | None = None


class Run:
    """One run of a Job."""

    def __init__(self, job: Job, report: Report, stdout: StandardOutput):
        self._job = job
        self._report = report
        self._stdout = stdout
        self._showing = self._choose_showing()
        self._failures: list[tuple[str, str]] = []

    def execute(self) -> int:
        """Do everything; returns the exit status, 0 or 1. Raises KeyboardInterrupt, with nothing half-written."""
        with ExitStack() as spooled:
            works = [work for work in self._works() if self._open(work, spooled)]
            if works:
                try:
                    model = self._load()
                except (OpenProxyError, OSError) as error:
                    return self._give_up(works, error)
                with closing(model):
                    self._transcribe(works, model)
        self._summarise()
        return 1 if self._failures else 0

    def _works(self) -> list[_Work]:
        """What there is something to do for; the other recordings are failed or skipped on the spot."""
        recordings = self._job.recordings
        works = []
        for recording, wanted in zip(recordings, self._job.destination.files or [()] * len(recordings), strict=True):
            verdict = judge(recording, wanted, recordings, self._job.existing)
            if verdict.problem is not None:
                self._fail(recording, verdict.problem)
            elif verdict.done:
                self._report.say(f"{recording.name}: skipped, its outputs exist")
                self._line(recording, ok=True, skipped=True, outputs=[str(output.path) for output in wanted])
            else:
                works.append(_Work(recording, verdict.write))
        return works

    def _open(self, work: _Work, spooled: ExitStack) -> bool:
        try:
            work.source = sources.open_source(work.recording.path, spooled)
        except OSError as error:
            self._fail(work.recording, error)
            return False
        return True

    def _load(self) -> SpeechModel:
        model = self._job.open_model(self._report.downloading)
        if model.facts is not None:
            for name in self._job.destination.formats:
                self._render(_rehearsal(model.facts), name)
        return model

    def _give_up(self, works: Sequence[_Work], error: OpenProxyError | OSError) -> int:
        told = {"message": _reason(error), "code": error.code if isinstance(error, OpenProxyError) else None}
        self._report.say(f"error: {told['message']}")
        for work in works:
            self._line(work.recording, ok=False, error=told)
        return 1

    def _transcribe(self, works: Sequence[_Work], model: SpeechModel) -> None:
        options = self._options(model.facts)
        names = self._job.destination.formats

        def stream(work: _Work) -> Generator[Item, None, None]:
            yield Progress(0.0, None)
            yield from model.stream(work.source, work.recording.name, options, names, times=self._job.json_lines)

        with closing(batch.run(works, stream, self._job.jobs)) as events:
            for index, event in events:
                self._hear(index, works[index], event)

    def _hear(self, index: int, work: _Work, event: Item | Exception | None) -> None:
        """What happened to one recording; None is its good end."""
        # The first event of every work only says that it has begun.
        if work.begun is None:
            work.begun = time.monotonic()
            self._report.started(index, work.recording.name)
            return
        match event:
            case Progress():
                self._report.advanced(index, event)
            case Segment() | Piece():
                with self._report.writing():
                    self._showing.piece(event.text)
            case Transcript():
                work.transcript = event
            case None:
                self._finish(index, work)
            case Exception():
                self._break_off(index, work, event)

    def _finish(self, index: int, work: _Work) -> None:
        transcript = work.transcript
        if transcript is None:
            raise RuntimeError("a transcription ended without its transcript")
        try:
            bodies = [self._render(transcript, output.format) for output in work.outputs]
            for output, body in zip(work.outputs, bodies, strict=True):
                outputs.write(output.path, body)
            with self._report.writing():
                self._showing.done(index, work.recording.name, transcript)
        except (OpenProxyError, OSError) as error:
            self._break_off(index, work, error)
            return
        self._report.ended(index)
        elapsed = time.monotonic() - (work.begun or 0.0)
        length = transcript.duration
        taken = (
            f"{elapsed:.1f} s" if length is None else f"{clock(length)} in {elapsed:.1f} s ({speed(length, elapsed)})"
        )
        files = [str(output.path) for output in work.outputs]
        self._report.say(f"{work.recording.name}: {taken}" + (f" -> {', '.join(files)}" if files else ""))
        self._line(work.recording, ok=True, **_facts(transcript), outputs=files, elapsed=round(elapsed, 3))
        work.transcript = None

    def _break_off(self, index: int, work: _Work, error: Exception) -> None:
        self._report.ended(index)
        with self._report.writing():
            self._showing.failed(index)
        self._fail(work.recording, error)

    def _fail(self, recording: Recording, error: Exception | str) -> None:
        reason = error if isinstance(error, str) else _reason(error)
        code = error.code if isinstance(error, OpenProxyError) else None
        self._failures.append((recording.name, reason))
        self._report.say(
            f"{recording.name}: failed: {reason}" if self._several else f"error: {recording.name}: {reason}"
        )
        self._line(recording, ok=False, error={"message": reason, "code": code})

    def _summarise(self) -> None:
        if self._failures and self._several:
            self._report.say(f"{len(self._failures)} of {len(self._job.recordings)} failed:")
            for name, reason in self._failures:
                self._report.say(f"  {name}: {reason}")

    def _line(self, recording: Recording, **values: Any) -> None:
        if self._job.json_lines:
            with self._report.writing():
                self._stdout.line({"file": recording.name, **values})

    @property
    def _several(self) -> bool:
        return len(self._job.recordings) > 1

    def _render(self, transcript: Transcript, name: str) -> bytes:
        return formats.render(transcript, name, granularities=self._job.granularities).body

    def _choose_showing(self) -> Showing:
        shown = self._job.destination.shown
        if shown is None:
            return Showing()
        if self._job.destination.headers:
            return Sections(self._stdout, lambda transcript: self._render(transcript, shown))
        if shown == "text":
            return Live(self._stdout)
        return Document(self._stdout, lambda transcript: self._render(transcript, shown))

    def _options(self, facts: ModelFacts | None) -> Options:
        """The options asked for, with the times of words where a format is better for them and the model has them."""
        wanted = any(formats.needs_words(name, self._job.granularities) for name in self._job.destination.formats)
        return replace(
            self._job.options,
            word_timestamps=self._job.options.word_timestamps
            or (wanted and facts is not None and facts.word_timestamps),
        )


def _rehearsal(facts: ModelFacts) -> Transcript:
    """A transcript with all that this kind of model gives, to see before the work whether a format can be made of it."""
    if facts.kind == "chat":
        return Transcript(text="word", duration=1.0)
    word = Word("word", 0.0, 1.0)
    return from_segments([Segment("word", 0.0, 1.0, words=(word,))], language="en", duration=1.0)


def _facts(transcript: Transcript) -> dict[str, Any]:
    """What a JSON line tells of a transcript."""
    return {
        "text": transcript.text,
        "language": transcript.language,
        "duration": transcript.duration,
        "segments": [_timed(segment) for segment in transcript.segments],
        **({"words": [_timed(word) for word in transcript.words]} if transcript.words else {}),
    }


def _timed(part: Segment | Word) -> dict[str, Any]:
    return {"start": round(part.start, 3), "end": round(part.end, 3), "text": part.text.strip()}


def _reason(error: Exception) -> str:
    if isinstance(error, OpenProxyError):
        return error.message
    if isinstance(error, OSError):
        return error.strerror or str(error)
    _log.debug("Unexpected", exc_info=error)
    return f"unexpected {type(error).__name__}: {error}"
