"""sherpa-onnx with moonshine tiny-en, from the model files of the package moonshine-voice.

Arguments: the folder for the texts, recordings (16 kHz mono wav). The model takes half a minute at most, so longer
recordings are cut where they are quietest. Prints the text of each piece as it comes.
"""

import base64
import sys
import wave
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import sherpa_onnx

RATE = 16_000
LONGEST, SHORTEST = 28 * RATE, 14 * RATE
HOP = RATE // 10


def main() -> None:
    """Load, transcribe, write."""
    out, *files = map(Path, sys.argv[1:])
    recognizer = load(out / "tokens.txt")
    for file in files:
        texts = []
        for piece in pieces(samples(file)):
            stream = recognizer.create_stream()
            stream.accept_waveform(RATE, piece)
            recognizer.decode_stream(stream)
            texts.append(stream.result.text.strip())
            print(texts[-1], flush=True)
        (out / f"{file.stem}.txt").write_text(" ".join(texts), encoding="utf-8")


def load(tokens: Path) -> sherpa_onnx.OfflineRecognizer:
    """The recogniser; its table of tokens is written to `tokens` first."""
    package = find_spec("moonshine_voice")
    assert package is not None
    assert package.submodule_search_locations
    folder = Path(package.submodule_search_locations[0]) / "assets" / "tiny-en"
    tokens.write_text(token_table((folder / "tokenizer.bin").read_bytes()), encoding="utf-8")
    return sherpa_onnx.OfflineRecognizer.from_moonshine_v2(
        encoder=str(folder / "encoder_model.ort"),
        decoder=str(folder / "decoder_model_merged.ort"),
        tokens=str(tokens),
        num_threads=1,
    )


def token_table(data: bytes) -> str:
    """A line `base64 number` for each token of a tokenizer.bin: tokens of up to 127 bytes, each after its length."""
    lines, at = [], 0
    while at < len(data):
        end = at + 1 + data[at]
        lines.append(f"{base64.b64encode(data[at + 1 : end]).decode()} {len(lines)}\n")
        at = end
    return "".join(lines)


def samples(file: Path) -> np.ndarray:
    """(samples,) float32."""
    with wave.open(str(file), "rb") as source:
        return np.frombuffer(source.readframes(source.getnframes()), np.int16).astype(np.float32) / 32768


def pieces(whole: np.ndarray) -> Iterator[np.ndarray]:
    """Cut (samples,) in the middle of the quietest tenth of a second between 14 and 28 s, again and again."""
    while len(whole) > LONGEST:
        hops = whole[SHORTEST:LONGEST].reshape(-1, HOP)
        cut = SHORTEST + HOP // 2 + HOP * int(np.argmin((hops**2).sum(axis=1)))
        yield whole[:cut]
        whole = whole[cut:]
    yield whole


if __name__ == "__main__":
    main()
