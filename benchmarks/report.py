"""Results as Markdown: tables, goals, and a file in which every part of every script has its own place."""

import os
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

_TITLE = "# Results\n\nWritten by the scripts beside this file; each part says by which command, when and where.\n"


@dataclass(frozen=True, slots=True)
class Run:
    """What all the parts of one run have in common."""

    script: str
    """Without its ending: engine."""
    command: str
    """As a reader would repeat it."""
    packages: Sequence[str]
    """Whose versions matter."""

    def heading(self) -> str:
        """When, where and with what, as of now."""
        versions = ", ".join(f"{package} {version(package)}" for package in self.packages)
        return (
            f"`{self.command}`, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC. {os.cpu_count()} cores ({_processor()}), "
            f"load {os.getloadavg()[0]:.1f} before it, {platform.system()}, Python {platform.python_version()}; {versions}."
        )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are figures."""
    lines = [_row(columns), _row(["---", *["---:"] * (len(columns) - 1)]), *map(_row, rows)]
    return "\n".join(lines) + "\n"


def goal(wanted: str, found: str, *, met: bool) -> str:
    """A line that says what was wanted, what was found, and whether that is enough."""
    return f"- {'met' if met else '**missed**'}: {wanted}: {found}\n"


def write(path: Path, run: Run, order: Sequence[str], parts: dict[str, str]) -> None:
    """Put `parts`, by name, into the file: over those of the same script and name, the others stay.

    `order` names all the parts of this script. Parts of other scripts keep their places.
    """
    old = path.read_text(encoding="utf-8") if path.exists() else _TITLE
    found = {match[1]: match[0] for match in re.finditer(r"<!-- (\S+) -->\n.*?<!-- /\1 -->\n", old, re.DOTALL)}
    found |= {f"{run.script}/{name}": _marked(f"{run.script}/{name}", body) for name, body in parts.items()}
    scripts = list(dict.fromkeys(name.split("/")[0] for name in found))
    own = [f"{run.script}/{name}" for name in order]
    text = _TITLE
    for script in scripts:
        names = own if script == run.script else [name for name in found if name.startswith(f"{script}/")]
        text += f"\n## {script}.py\n" + "".join(f"\n{found[name]}" for name in names if name in found)
    path.write_text(text, encoding="utf-8")


def _marked(name: str, body: str) -> str:
    return f"<!-- {name} -->\n{body.strip()}\n<!-- /{name} -->\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _processor() -> str:
    """The name of the processor, or at least its kind."""
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return found[1] if found else platform.machine()
