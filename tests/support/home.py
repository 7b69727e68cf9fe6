"""The `openproxy` command on a data directory of its own, as a user runs it there."""

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.command import SCRIPT

PREFIX = "openproxy.v1."


def error(code: str, message: str, details: object = None) -> dict[str, Any]:
    """The envelope of an error."""
    told: dict[str, Any] = {"code": code, "message": message}
    if details is not None:
        told["details"] = details
    return {"schema": f"{PREFIX}error", "ok": False, "error": told, "meta": {}}


def success(schema: str, data: object) -> dict[str, Any]:
    """The envelope of an answer."""
    return {"schema": PREFIX + schema, "ok": True, "data": data, "meta": {}}


@dataclass
class Home:
    """Nothing of the machine's own settings reaches what runs here."""

    root: Path
    more: dict[str, str] = field(default_factory=dict)
    """Further environment variables."""

    @property
    def folder(self) -> Path:
        """The data directory."""
        return self.root / "data"

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.root / "config.toml"

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENPROXY_")}
        for name in ("PORT", "DATA_DIR", "INITIAL_PASSWORD", "XDG_CONFIG_HOME"):
            kept.pop(name, None)
        own = {"DATA_DIR": str(self.folder), "OPENPROXY_CONFIG": str(self.config), "HOME": str(self.root)}
        return kept | own | self.more

    def run(self, *arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([SCRIPT, *arguments], input=stdin, capture_output=True, timeout=120, env=self.environ)

    def lines(self, *arguments: str | Path, stdin: bytes = b"") -> str:
        """What a command that succeeds shows a person."""
        done = self.run(*arguments, stdin=stdin)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    def robot(self, *arguments: str | Path, stdin: bytes = b"") -> tuple[int, dict[str, Any]]:
        """Exit status and the one envelope, which is all that stands on standard output."""
        done = self.run("--robot", *arguments, stdin=stdin)
        assert done.stdout.count(b"\n") == 1, (done.stdout, done.stderr)
        assert b"Traceback" not in done.stderr
        return done.returncode, json.loads(done.stdout)

    def data(self, *arguments: str | Path, stdin: bytes = b"") -> Any:
        """The data of a command that succeeds."""
        status, envelope = self.robot(*arguments, stdin=stdin)
        assert (status, envelope["ok"], envelope["meta"]) == (0, True, {}), envelope
        return envelope["data"]

    def start(self, *arguments: str) -> str:
        """Start a detached server on a free port; gives its address."""
        told = self.data("server", "start", "--detach", "--port", "0", *arguments)
        return f"http://127.0.0.1:{told['port']}"

    def stop(self) -> None:
        """Stop the server, if one runs."""
        if (self.folder / "openproxy.pid").exists():
            self.run("server", "stop")
