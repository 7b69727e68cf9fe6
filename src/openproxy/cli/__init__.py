"""The `openproxy` command line: one file per noun, loaded when it is asked for."""

import os
import sys


def main() -> None:
    """Run the command that the arguments name, and exit with its status."""
    _open_streams()
    try:
        from openproxy.cli.program import run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)


def _open_streams() -> None:
    """Put something in the place of standard streams that are closed, so that no other file gets their numbers.

    Nothing is read from such an input, writing to such an output fails, and nobody sees what goes to such an error stream.
    """
    for number, (name, how) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            # the lowest number that is free, and so this one
            os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            setattr(sys, name, open(number, how, encoding="utf-8"))  # noqa: SIM115, PTH123 - open for the whole run
