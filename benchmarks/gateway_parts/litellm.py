"""LiteLLM's proxy, the peer: one pinned version, in a virtual environment of its own beside the benchmarks."""

import json
import subprocess
import sys
import venv
from pathlib import Path

VERSION = "1.108.7"
KEY = "sk-benchmark-0123456789"
ONE, TWO = "one-account", "two-accounts"
"""Its models: with one account behind it, and with two."""
ENVIRONMENT = {"LITELLM_LOG": "ERROR", "LITELLM_MODE": "PRODUCTION", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
"""As its documentation has it for production; the last keeps it from asking the network when it starts."""

_FOLDER = Path(__file__).parents[1] / ".venv-litellm"
_STAMP = _FOLDER / "stamp.txt"


def install() -> Path:
    """The command `litellm`; its environment is made where it is missing or of another version (900 MB, minutes)."""
    state = f"{sys.version}\n{VERSION}\n"
    if not _STAMP.exists() or _STAMP.read_text(encoding="utf-8") != state:
        print(f"Installing LiteLLM {VERSION} into {_FOLDER.name} ...", file=sys.stderr, flush=True)
        venv.create(_FOLDER, clear=True, with_pip=True)
        pip = (
            _FOLDER / "bin" / "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-input",
            "--disable-pip-version-check",
        )
        subprocess.run([*pip, f"litellm[proxy]=={VERSION}"], check=True)
        _STAMP.write_text(state, encoding="utf-8")
    return _FOLDER / "bin" / "litellm"


def configure(path: Path, upstream: str) -> Path:
    """Write its configuration: a key for clients, and accounts at `upstream`, the base of an OpenAI API."""
    accounts = [
        {
            "model_name": name,
            "litellm_params": {"model": "openai/whisper-1", "api_base": upstream, "api_key": f"account-{number}"},
            "model_info": {"mode": "audio_transcription"},
        }
        for number, name in enumerate((ONE, TWO, TWO))
    ]
    # JSON is YAML, which is what it reads
    path.write_text(json.dumps({"model_list": accounts, "general_settings": {"master_key": KEY}}), encoding="utf-8")
    return path
