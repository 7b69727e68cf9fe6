"""The `openproxy` command line: one file per noun, loaded when it is asked for."""

import sys


def main() -> None:
    """Run the command that the arguments name, and exit with its status."""
    try:
        from openproxy.cli.program import app

        app(prog_name="openproxy")
    except KeyboardInterrupt:
        sys.exit(130)
