"""What the transcription route costs over a chat model: beside the chat route, and beside llama.cpp's own server.

    python benchmarks/chat_engine.py [--quick] [--write benchmarks/RESULTS.md]

Everything runs on this machine, over loopback, each server in a process of its own, in turn within one run. The model
is tests/data/models/digits.
"""

import argparse
import sys
from pathlib import Path

import report
from chat_engine_parts import routes

PACKAGES = ("openproxy-stt", "xllamacpp", "uvicorn", "uvloop", "starlette", "multipart", "httpx")


def main() -> None:
    """Measure; print it, and write it where the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="see that everything works; the figures mean little")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the results into this file too")
    arguments = parser.parse_args()
    command = "python benchmarks/chat_engine.py" + (" --quick" if arguments.quick else "")
    run = report.Run("chat_engine", command, PACKAGES)
    heading = run.heading()
    print(f"measuring: {routes.NAME}", file=sys.stderr, flush=True)
    body = f"{routes.measure(quick=arguments.quick)}\n{heading}\n"
    print(body, flush=True)
    if arguments.write is not None:
        report.write(arguments.write, run, [routes.NAME], {routes.NAME: body})


if __name__ == "__main__":
    main()
