"""Two hours through `openproxy transcribe`: memory beside that of a minute, the first text, progress that moves."""

import re
from collections.abc import Sequence
from itertools import pairwise

import report
from processes import Chunk, run
from speech import repeated

from engine_parts.setting import OPENPROXY, Setting

NAME = "long"
LENGTH = 2 * 3600.0
QUICK_LENGTH = 600.0
MINUTE = 60.0
GROWTH = 300.0
"""MB."""
FIRST_TEXT = 10.0
"""Seconds."""
PAUSE = 30.0
"""Seconds between two lines of progress."""


def measure(setting: Setting) -> str:
    """The long recording, repeated to a minute and to two hours."""
    length = QUICK_LENGTH if setting.quick else LENGTH
    clip = setting.speech.long
    short = run([OPENPROXY, "transcribe", repeated(clip, MINUTE, setting.scratch / "minute.wav")])
    long = run([OPENPROXY, "transcribe", repeated(clip, length, setting.scratch / "hours.wav")])
    times = [0.0, *(chunk.seconds for chunk in _progress(long.stderr)), long.elapsed]
    pause = max(after - before for before, after in pairwise(times))
    growth = long.peak - short.peak
    rows = [
        [name, f"{done.cpu:.1f}", f"{done.elapsed:.1f}", f"{done.first():.1f}", f"{done.peak:.0f}"]
        for name, done in ((f"{MINUTE:.0f} s", short), (f"{length:.0f} s", long))
    ]
    return (
        "### Hours\n\n"
        + report.table(["recording", "CPU s", "elapsed s", "first text s", "peak MB"], rows)
        + "\n"
        + report.goal(f"peak memory within {GROWTH:.0f} MB of a minute's", f"{growth:+.0f} MB", met=growth <= GROWTH)
        + report.goal("first text within seconds", f"{long.first():.1f} s", met=long.first() <= FIRST_TEXT)
        + report.goal(
            "progress that moves",
            f"{len(times) - 2} lines on standard error, at most {pause:.0f} s apart",
            met=pause <= PAUSE,
        )
    )


def _progress(written: Sequence[Chunk]) -> list[Chunk]:
    return [chunk for chunk in written if re.search(r" of \d+:\d\d.* real time", chunk.text)]
