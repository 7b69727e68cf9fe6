"""What to do where an output of a run is there already."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from openproxy.cli.inputs import Recording
from openproxy.cli.outputs import Output

Policy = Literal["refuse", "overwrite", "skip"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is left to do for one recording."""

    write: tuple[Output, ...] = ()
    """The outputs to make."""
    done: bool = False
    """Whether all of them are there, and are to stay."""
    problem: str | None = None
    """Why nothing can be done."""


def judge(recording: Recording, wanted: Sequence[Output], recordings: Sequence[Recording], policy: Policy) -> Verdict:
    """The verdict on `recording`, one of `recordings`, whose transcript is wanted in these files."""
    if recording.problem is not None:
        return Verdict(problem=recording.problem)
    there = [output for output in wanted if output.path.exists()]
    for output in there:
        if output.path.is_dir():
            return Verdict(problem=f"its output {output.path} is a folder")
        if any(other.path is not None and _same(output.path, other.path) for other in recordings):
            return Verdict(problem=f"its output {output.path} is one of the recordings")
        if policy == "refuse":
            return Verdict(problem=f"{output.path} exists (--overwrite replaces it, --skip-existing keeps it)")
    if there and policy == "skip":
        missing = tuple(output for output in wanted if output not in there)
        return Verdict(write=missing, done=not missing)
    return Verdict(write=tuple(wanted))


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
