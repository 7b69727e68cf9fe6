"""What `openproxy --help` costs beside the smallest Typer programs."""

import sys
from pathlib import Path
from statistics import median

import report
from processes import run

from engine_parts.setting import OPENPROXY, PROGRAMS, Setting

NAME = "help"
RATIO = 1.3


def measure(setting: Setting) -> str:
    """CPU of `--help`, in turn."""
    commands: dict[str, list[str | Path]] = {
        "openproxy --help": [OPENPROXY, "--help"],
        "empty Typer program": [sys.executable, PROGRAMS / "empty_typer.py", "--help"],
        "empty Typer program, plain help": [sys.executable, PROGRAMS / "empty_typer_plain.py", "--help"],
    }
    times = setting.times(31, 7)
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(times):
        for name, command in commands.items():
            cpu[name].append(run(command).cpu)
    own, empty, plain = (median(values) for values in cpu.values())
    return (
        "### Help\n\n"
        f"CPU milliseconds (user and system), each {times} times, in turn.\n\n"
        + report.table(
            ["", "median", "least", "openproxy / this"],
            [
                [name, f"{median(values) * 1e3:.0f}", f"{min(values) * 1e3:.0f}", f"{own / median(values):.2f}"]
                for name, values in cpu.items()
            ],
        )
        + "\n"
        + report.goal(f"at most {RATIO} of an empty Typer program", f"{own / empty:.2f}", met=own <= RATIO * empty)
        + report.goal("the same where that has plain help too", f"{own / plain:.2f}", met=own <= RATIO * plain)
    )
