"""Makes .venv and installs the project there with the extras named on the command line; called by scripts/install.

What is installed is written to .venv/openproxy-stamp.json. As long as that agrees with the project's files, the
interpreter, the place of the project and the extras wanted, nothing is done. A lock on the project's folder lets
several runs start at once.
"""

import fcntl
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "openproxy-stamp.json"
CONSTRAINTS = ROOT / "constraints.txt"


def main(extras: list[str]) -> int:
    """Install `extras` where they are missing; returns the exit status."""
    if covers(read_stamp(), extras):
        return 0
    folder = os.open(ROOT, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    stamp = read_stamp()
    if covers(stamp, extras):
        return 0
    wanted = sorted({*extras, *(stamp["extras"] if stamp else ())})
    print(f"Setting up .venv with {', '.join(wanted)} (once; takes a minute or so) ...", file=sys.stderr, flush=True)
    STAMP.unlink(missing_ok=True)
    project = f".[{','.join(wanted)}]"
    install = [PYTHON, "-m", "pip", "install", "--no-input", "--constraint", CONSTRAINTS, "--editable", project]
    if not (usable() or run([sys.executable, "-m", "venv", "--clear", VENV])) or not run(install):
        return 1
    STAMP.write_text(json.dumps({"state": state(), "extras": wanted}) + "\n", encoding="utf-8")
    return 0


def covers(stamp: dict[str, Any] | None, extras: list[str]) -> bool:
    """Whether what is installed is what is wanted now."""
    return stamp is not None and stamp["state"] == state() and set(extras) <= set(stamp["extras"])


def read_stamp() -> dict[str, Any] | None:
    """What the last complete installation wrote, None where there is none."""
    try:
        return json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def state() -> str:
    """A fingerprint of all that an installation depends on but the extras."""
    digest = hashlib.sha256()
    for file in (ROOT / "pyproject.toml", CONSTRAINTS, VENV / "pyvenv.cfg"):
        digest.update(file.read_bytes() if file.exists() else b"")
    digest.update(os.fsencode(ROOT))
    return digest.hexdigest()


def usable() -> bool:
    """Whether .venv holds a Python that is new enough, has pip, and was made at this place."""
    code = "import sys, pip; assert sys.version_info >= (3, 11); print(sys.prefix)"
    try:
        found = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return False
    scripts = [line for name in ("pip", "pip3") if (line := first_line(VENV / "bin" / name))]
    return Path(found) == VENV and all(str(VENV) in line for line in scripts)


def first_line(script: Path) -> str:
    """The interpreter line of a script; a long one, or one with spaces, stands on the second line."""
    try:
        return "".join(script.read_text(encoding="utf-8", errors="replace").splitlines()[:2])
    except OSError:
        return ""


def run(command: list[str | Path]) -> bool:
    """Run a command, and show what it wrote only if it fails."""
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.stderr.buffer.write(done.stdout)
        print(f"error: {' '.join(map(str, command))} ended with status {done.returncode}", file=sys.stderr)
    return done.returncode == 0


sys.exit(main(sys.argv[1:]))
