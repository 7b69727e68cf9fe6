"""Runs a program for as long as standard input stays open: `python lifeline.py PROGRAM ARGUMENT...`.

Whoever holds the other end of that pipe may end in any way, and the program ends with it. A file of its own, run without
the rest of the package.
"""

import os
import subprocess
import sys
import threading


def main() -> None:
    """Run the program of the command line, and end with its status."""
    process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)  # noqa: S603 - started by our own code

    def watch() -> None:
        while os.read(0, 1024):
            pass
        process.kill()

    threading.Thread(target=watch, daemon=True).start()
    status = process.wait()
    os._exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
