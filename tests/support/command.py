"""The `openproxy` command as a user runs it: the installed script in a process of its own."""

import signal
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(sys.executable).with_name("openproxy")
ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "data" / "cases"
SPEECH = ROOT / "tests" / "data" / "speech"


def run(
    *arguments: str | Path, cwd: Path | None = None, stdin: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run it to its end; without `stdin` there is nothing to read."""
    return subprocess.run(
        [SCRIPT, *arguments], cwd=cwd, input=stdin if stdin is not None else b"", capture_output=True, timeout=120
    )


def start(
    *arguments: str | Path, cwd: Path | None = None, environ: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start it with pipes on its three streams, as a terminal does: an interrupt reaches it, whoever started the tests."""
    pipe = subprocess.PIPE
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return subprocess.Popen([SCRIPT, *arguments], cwd=cwd, env=environ, stdin=pipe, stdout=pipe, stderr=pipe)
    finally:
        signal.signal(signal.SIGINT, before)
