"""The `openproxy` command line: one file per noun, loaded when it is asked for."""

import sys


def main() -> None:
    """Run the command that the arguments name, and exit with its status."""
    try:
        from openproxy.cli.program import run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
