"""Word errors, CPU, memory and the wait for the first text, beside other programs with the same or a similar model."""

import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import peers
import report
from processes import Finished, run
from speech import Clip, word_error_rate

from engine_parts.setting import OPENPROXY, PROGRAMS, Setting, tiny_en

NAME = "recognition"


@dataclass(frozen=True, slots=True)
class Program:
    """Something that transcribes."""

    command: Callable[[Sequence[Path], Path], list[str | Path]]
    """From recordings, and the folder for their texts, to a command. What is not in the folder is on standard output."""
    mark: str = ""
    """What on standard output shows that text has begun; any text where empty."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    finished: Finished
    mark: str
    errors: float
    seconds: float


_COLUMNS = {
    "short": ("WER short", "CPU s / s short"),
    "long": ("WER long", "CPU s / s long", "peak MB long"),
    "first": ("first text s", "CPU s of it"),
}


def measure(setting: Setting) -> str:
    """All programs on the short recordings in one process each, on the long one, and on the shortest alone."""
    peers.install()
    programs, speech = _programs(), setting.speech
    workloads = {"short": speech.short, "long": [speech.long], "first": [speech.shortest]}
    if setting.quick:
        del workloads["long"]
    outcomes: dict[tuple[str, str], list[_Outcome]] = defaultdict(list)
    for _ in range(setting.times(3)):
        for workload, clips in workloads.items():
            for name, program in programs.items():
                outcomes[name, workload].append(_outcome(program, clips, setting.scratch))
    rows = [
        [name, *(cell for workload in workloads for cell in _cells(workload, outcomes[name, workload]))]
        for name in programs
    ]
    return (
        "### Recognition\n\n"
        f"{len(speech.short)} short recordings in one process, one of {speech.long.seconds:.0f} s, and the first text of "
        f"one of {speech.shortest.seconds:.0f} s; whole processes with start-up, each {setting.times(3)} times, in turn; medians. "
        "All Whispers: tiny.en int8, beam 5, voice activity detection, one thread.\n\n"
        + report.table(["program", *(column for workload in workloads for column in _COLUMNS[workload])], rows)
    )


def _programs() -> dict[str, Program]:
    return {
        "openproxy transcribe": Program(_openproxy),
        f"faster-whisper {peers.version('faster-whisper')}, called directly": Program(_faster_whisper),
        f"whisper-ctranslate2 {peers.version('whisper-ctranslate2')}": Program(_whisper_ctranslate2, mark="-->"),
        f"sherpa-onnx {peers.version('sherpa-onnx')}, moonshine tiny-en": Program(_moonshine),
    }


def _openproxy(files: Sequence[Path], out: Path) -> list[str | Path]:
    """One recording goes to standard output, as its text comes; several go to files."""
    return [OPENPROXY, "transcribe", *files, *(("-f", "text", "-o", f"{out}/") if len(files) > 1 else ())]


def _faster_whisper(files: Sequence[Path], out: Path) -> list[str | Path]:
    return [sys.executable, PROGRAMS / "bare_whisper.py", tiny_en(), out, *files]


def _whisper_ctranslate2(files: Sequence[Path], out: Path) -> list[str | Path]:
    return [
        peers.WHISPER_CTRANSLATE2,
        *("--model_directory", tiny_en(), "--device", "cpu", "--compute_type", "int8", "--threads", "1"),
        *("--language", "en", "--beam_size", "5", "--vad_filter", "True", "--condition_on_previous_text", "False"),
        *("--output_dir", out, "--output_format", "txt"),
        *files,
    ]


def _moonshine(files: Sequence[Path], out: Path) -> list[str | Path]:
    return [peers.PYTHON, PROGRAMS / "moonshine.py", out, *files]


def _outcome(program: Program, clips: Sequence[Clip], scratch: Path) -> _Outcome:
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        out = Path(folder)
        finished = run(program.command([clip.path for clip in clips], out))
        files = [out / f"{clip.path.stem}.txt" for clip in clips]
        texts = [file.read_text(encoding="utf-8") if file.exists() else finished.text for file in files]
    return _Outcome(finished, program.mark, word_error_rate(clips, texts), sum(clip.seconds for clip in clips))


def _cells(workload: str, outcomes: Sequence[_Outcome]) -> Iterator[str]:
    if workload == "first":
        yield f"{median(outcome.finished.first(outcome.mark) for outcome in outcomes):.2f}"
        yield f"{median(outcome.finished.cpu for outcome in outcomes):.2f}"
        return
    yield f"{median(outcome.errors for outcome in outcomes):.1%}"
    yield f"{median(outcome.finished.cpu / outcome.seconds for outcome in outcomes):.3f}"
    if workload == "long":
        yield f"{median(outcome.finished.peak for outcome in outcomes):.0f}"
