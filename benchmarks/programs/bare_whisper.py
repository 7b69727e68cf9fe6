"""faster-whisper called directly with the settings of `openproxy transcribe`.

Arguments: the folder of the model, the folder for the texts, recordings. Prints each segment as it comes and, on
standard error, the CPU seconds of the calls alone.
"""

import sys
import time
from pathlib import Path

from faster_whisper import WhisperModel

SETTINGS = {"language": "en", "beam_size": 5, "vad_filter": True, "condition_on_previous_text": False}


def main() -> None:
    """Load, transcribe, write."""
    folder, out, *files = map(Path, sys.argv[1:])
    model = WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=1)
    begun = time.process_time()
    for file in files:
        segments, _ = model.transcribe(str(file), **SETTINGS)
        texts = []
        for segment in segments:
            print(segment.text, end="", flush=True)
            texts.append(segment.text)
        print(flush=True)
        (out / f"{file.stem}.txt").write_text("".join(texts), encoding="utf-8")
    print(time.process_time() - begun, file=sys.stderr)


if __name__ == "__main__":
    main()
