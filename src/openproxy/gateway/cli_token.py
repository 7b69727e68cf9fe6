"""The token with which the command line on the same machine calls this gateway (contracts/gateway.md, decision 19)."""

import os
import secrets
from pathlib import Path

NAME = "cli.token"


def read(data_dir: Path) -> str | None:
    """The token in the data directory; None where there is none."""
    try:
        return (data_dir / NAME).read_text("ascii").strip() or None
    except (FileNotFoundError, UnicodeDecodeError):
        return None


def ensure(data_dir: Path) -> str:
    """The token, made for the owner alone (mode 0600) where there is none. Raises OSError."""
    if found := read(data_dir):
        return found
    token = f"cli-{secrets.token_hex(32)}"
    # written whole under another name first: whoever reads it meanwhile sees all of it or nothing
    unfinished = data_dir / f".{NAME}.{os.getpid()}.{secrets.token_hex(4)}"
    handle = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(token)
        try:
            os.link(unfinished, data_dir / NAME)
        except FileExistsError:
            # another process was first, or what is there is blank
            if found := read(data_dir):
                return found
            unfinished.replace(data_dir / NAME)
    finally:
        unfinished.unlink(missing_ok=True)
    return token
