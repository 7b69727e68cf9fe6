"""A loaded faster-whisper that waits: one recording a line on standard input, one line of text for each on standard output.

Argument: the folder of the model. The first line that it prints says that it is loaded.
"""

import sys

from bare_whisper import SETTINGS
from faster_whisper import WhisperModel


def main() -> None:
    """Serve standard input until it ends."""
    model = WhisperModel(sys.argv[1], device="cpu", compute_type="int8", cpu_threads=1)
    print("loaded", flush=True)
    for line in sys.stdin:
        segments, _ = model.transcribe(line.rstrip("\n"), **SETTINGS)
        print("".join(segment.text for segment in segments), flush=True)


if __name__ == "__main__":
    main()
