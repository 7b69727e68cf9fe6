"""What `openproxy transcribe` costs beyond the call of faster-whisper in it."""

import sys
from statistics import median

import report
from processes import run

from engine_parts.setting import OPENPROXY, PROGRAMS, Setting, tiny_en

NAME = "overhead"
RATIO = 1.10
START_UP = 0.8
"""Seconds of CPU."""


def measure(setting: Setting) -> str:
    """The long recording through the command and through a script that does nothing else, in turn."""
    clip = setting.speech.long if not setting.quick else setting.speech.short[-1]
    ours, whole, call = [], [], []
    times = setting.times(5)
    for _ in range(times):
        ours.append(run([OPENPROXY, "transcribe", clip.path]).cpu)
        bare = run([sys.executable, PROGRAMS / "bare_whisper.py", tiny_en(), setting.scratch, clip.path])
        whole.append(bare.cpu)
        call.append(float(bare.told.split()[-1]))
    own, process, inner = median(ours), median(whole), median(call)
    rows = [
        ["openproxy transcribe, whole process", *_cells(ours), ""],
        ["faster-whisper script, whole process", *_cells(whole), f"{own / process:.3f}"],
        ["the call in it, without imports and loading", *_cells(call), f"{own / inner:.3f}"],
    ]
    return (
        "### Overhead of the command\n\n"
        f"CPU seconds for {clip.path.name} ({clip.seconds:.0f} s), each {times} times, in turn.\n\n"
        + report.table(["", "median", "least", "most", "openproxy / this"], rows)
        + "\n"
        + _goal("whole process", own, process)
        + _goal("call alone, its imports and loading left out", own, inner)
    )


def _cells(values: list[float]) -> list[str]:
    return [f"{value:.2f}" for value in (median(values), min(values), max(values))]


def _goal(what: str, own: float, bare: float) -> str:
    allowed = RATIO * bare + START_UP
    return report.goal(
        f"at most {RATIO:.2f} of faster-whisper ({what}) and {START_UP} s",
        f"{own:.2f} of {allowed:.2f} s",
        met=own <= allowed,
    )
