"""Where OpenProxy keeps what it must remember between runs (contracts/gateway.md, section 6.1)."""

import os
from collections.abc import Mapping
from pathlib import Path

VARIABLES = ("DATA_DIR", "OPENPROXY_DATA_DIR")
"""Environment variables that name the data directory; the first that is set and not blank counts."""


def data_dir(chosen: str | Path | None = None, environ: Mapping[str, str] = os.environ) -> Path:
    """The data directory as an absolute path: `chosen`, else the environment's, else `~/.openproxy`. Creates nothing."""
    named = chosen or next((environ[name] for name in VARIABLES if environ.get(name, "").strip()), None)
    return Path(named or "~/.openproxy").expanduser().absolute()


def ensure_data_dir(chosen: str | Path | None = None, environ: Mapping[str, str] = os.environ) -> Path:
    """The data directory, created for its owner alone (mode 0700) when it is not there; one that is there stays as it is.

    Raises OSError where it cannot be made, NotADirectoryError where a file has its name.
    """
    folder = data_dir(chosen, environ)
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if not folder.is_dir():
            raise NotADirectoryError(f"the data directory {folder} is a file") from None
    return folder
