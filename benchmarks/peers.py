"""The programs that OpenProxy is compared with, in a virtual environment of their own, `.venv-peers` beside this file."""

import subprocess
import sys
import venv
from pathlib import Path

_HERE = Path(__file__).parent
_PINS = _HERE / "peers.txt"
_FOLDER = _HERE / ".venv-peers"
_BIN = _FOLDER / "bin"
_STAMP = _FOLDER / "peers-stamp.txt"
_MOONSHINE = "moonshine-voice==0.0.73"
"""Installed for the model files in it alone, so without what it requires."""

PYTHON = _BIN / "python"
WHISPER_CTRANSLATE2 = _BIN / "whisper-ctranslate2"


def install() -> None:
    """Make the environment where it is missing or was made from other versions; takes a minute, and about 600 MB."""
    state = f"{sys.version}\n{_MOONSHINE}\n{_PINS.read_text(encoding='utf-8')}"
    if _STAMP.exists() and _STAMP.read_text(encoding="utf-8") == state:
        return
    print(f"Installing the peers into {_FOLDER.name} ...", file=sys.stderr, flush=True)
    venv.create(_FOLDER, clear=True, with_pip=True)
    pip = (PYTHON, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check")
    subprocess.run([*pip, "-r", _PINS], check=True)
    subprocess.run([*pip, "--no-deps", _MOONSHINE], check=True)
    _STAMP.write_text(state, encoding="utf-8")


def version(package: str) -> str:
    """The pinned version of a peer."""
    lines = _PINS.read_text(encoding="utf-8").splitlines()
    return next(line.removeprefix(f"{package}==") for line in lines if line.startswith(f"{package}=="))
