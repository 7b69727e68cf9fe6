"""What the gateway costs: beside LiteLLM's proxy, the barest forwarder, and the upstream without anything before it.

    python benchmarks/gateway.py [--quick] [--only PART ...] [--write benchmarks/RESULTS.md]

Everything runs on this machine, over loopback, each server and the client in a process of its own; what is compared
runs in turn within one run. LiteLLM is installed on first use, into a virtual environment beside this file. Linux only:
peaks of memory are read from /proc.
"""

import argparse
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import report
from gateway_parts import memory, throughput

PARTS: dict[str, Callable[[Path, bool], str]] = {part.NAME: part.measure for part in (throughput, memory)}
PACKAGES = ("openproxy-stt", "aiohttp", "uvicorn", "uvloop", "starlette", "multipart")


def main() -> None:
    """Measure what the arguments name; print it, and write it where they say."""
    arguments = _arguments()
    run = report.Run("gateway", _command(arguments), PACKAGES)
    for name in arguments.only or list(PARTS):
        heading = run.heading()
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            body = f"{PARTS[name](Path(scratch), arguments.quick)}\n{heading}\n"
        print(body, flush=True)
        if arguments.write is not None:
            report.write(arguments.write, run, list(PARTS), {name: body})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="see that everything works; the figures mean little")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the results into this file too")
    return parser.parse_args()


def _command(arguments: argparse.Namespace) -> str:
    words = ["python", "benchmarks/gateway.py", *(["--quick"] if arguments.quick else [])]
    return shlex.join([*words, *(["--only", *arguments.only] if arguments.only else [])])


if __name__ == "__main__":
    main()
