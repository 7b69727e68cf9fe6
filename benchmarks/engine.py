"""How well the engine does: words, CPU, memory, waiting, and what becomes of it under load and attack.

    python benchmarks/engine.py --speech FOLDER [--quick] [--long] [--only PART ...] [--write benchmarks/RESULTS.md]

FOLDER holds manifest.json, a list of {file, text, kind, seconds}, and its recordings, 16 kHz mono wav; the longest, of
a minute or two, is what long recordings are made of. Everything runs on this machine in processes of its own; what is
compared runs in turn within one run. The programs that OpenProxy is compared with are installed on first use.
"""

import argparse
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import report
import speech
from engine_parts import bombs, help_text, long_recording, overhead, recognition, serving, throughput
from engine_parts.setting import Setting

PARTS: dict[str, Callable[[Setting], str]] = {
    part.NAME: part.measure for part in (recognition, overhead, help_text, throughput, serving, bombs, long_recording)
}
LONG = (long_recording.NAME,)
PACKAGES = ("openproxy-stt", "faster-whisper", "ctranslate2", "onnxruntime", "av", "numpy", "typer")
DEFAULT_SPEECH = Path(__file__).parents[1] / "tests" / "data" / "speech"


def main() -> None:
    """Measure what the arguments name; print it, and write it where they say."""
    arguments = _arguments()
    if not (arguments.speech / speech.MANIFEST).is_file():
        sys.exit(f"{arguments.speech} holds no {speech.MANIFEST}; --speech names a folder that does")
    try:
        clips = speech.read(arguments.speech)
    except ValueError as error:
        sys.exit(f"{arguments.speech}: {error}")
    run = report.Run("engine", _command(arguments), PACKAGES)
    for name in arguments.only or [name for name in PARTS if arguments.long or name not in LONG]:
        heading = run.heading()
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            body = f"{PARTS[name](Setting(clips, Path(scratch), arguments.quick))}\n{heading}\n"
        print(body, flush=True)
        if arguments.write is not None:
            report.write(arguments.write, run, list(PARTS), {name: body})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--speech", type=Path, metavar="FOLDER", default=DEFAULT_SPEECH, help="recordings with texts")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="see that everything works; the figures mean little")
    parser.add_argument("--long", action="store_true", help=f"also what takes minutes: {', '.join(LONG)}")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the results into this file too")
    return parser.parse_args()


def _command(arguments: argparse.Namespace) -> str:
    """The command of this run, without the paths of this machine."""
    words = ["benchmarks/engine.py", *(["--speech", "FOLDER"] if arguments.speech != DEFAULT_SPEECH else [])]
    words += [f"--{flag}" for flag in ("quick", "long") if getattr(arguments, flag)]
    words += ["--only", *arguments.only] if arguments.only else []
    return shlex.join(["python", *words])


if __name__ == "__main__":
    main()
