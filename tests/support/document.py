"""The specification's own shell lines, run by a real bash, with real curl and jq, on a data directory of their own."""

import os
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from support.command import SCRIPT
from support.home import Home

LINES = Path(__file__).parents[1] / "spec" / "lines"
"""One file for each of the specification's code blocks, as it stands there, named after its section."""
SERVED = "127.0.0.1:4623"
"""Where the specification's server listens. Every document here has a port of its own instead."""
NO_KEY = re.compile(r"\ANo API key yet\. Make one with: openproxy .*server init\n")
"""What a server that has none says when it is started."""


@dataclass
class Document:
    """The reader of the specification: a data directory, a folder with recordings, and what stands for its blanks."""

    home: Home
    port: int = 0
    blanks: dict[str, str] = field(default_factory=dict)
    """What is written here instead of a text of the specification: names, secrets, keys."""
    key: str | None = None
    """OPENPROXY_API_KEY in the reader's shell."""
    told: list[str] = field(default_factory=list)
    """Everything that the shell has written."""

    def __post_init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.home.more["OPENPROXY_PORT"] = str(self.port)
        programs = self.home.root / "bin"
        programs.mkdir()
        (programs / "openproxy").symlink_to(SCRIPT)
        if shutil.which("jq") is None:
            stand_in = programs / "jq"
            stand_in.write_text(
                f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).with_name("jq_program.py")}" "$@"\n'
            )
            stand_in.chmod(0o755)
        self.home.more["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def lines(self, block: str) -> str:
        """A block of the specification with its blanks filled in."""
        text = (LINES / f"{block}.sh").read_text("utf-8")
        for blank, value in {SERVED: f"127.0.0.1:{self.port}", **self.blanks}.items():
            text = text.replace(blank, value)
        return text

    def shell(self, script: str, *, more: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a script to its end, whatever its commands return."""
        environ = self.home.environ | ({} if self.key is None else {"OPENPROXY_API_KEY": self.key}) | (more or {})
        command = ["bash", "-o", "pipefail", "-c", script]
        done = subprocess.run(
            command,
            cwd=self.home.root,
            env=environ,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        self.told += [done.stdout, done.stderr]
        return done

    def run(self, block: str) -> str:
        """What a block writes, each of whose commands succeeds and complains of nothing."""
        return self.succeed(self.lines(block))

    def succeed(self, script: str) -> str:
        """What a script writes, each of whose commands succeeds and complains of nothing."""
        done = self.shell("set -e\n" + script)
        assert (done.returncode, NO_KEY.sub("", done.stderr)) == (0, ""), (script, done.stdout, done.stderr)
        return done.stdout
