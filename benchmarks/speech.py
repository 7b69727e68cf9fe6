"""Recordings with known texts: a folder with manifest.json, a list of {file, text, kind, seconds}."""

import json
import wave
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Clip:
    """One recording: 16 kHz mono wav."""

    path: Path
    text: str
    """What is said."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Speech:
    """What there is to transcribe."""

    short: Sequence[Clip]
    """Under a minute each."""
    long: Clip
    """A minute and a half."""

    @property
    def shortest(self) -> Clip:
        """The one that takes the least time."""
        return min(self.short, key=lambda clip: clip.seconds)


def read(folder: Path) -> Speech:
    """Read the manifest. The longest recording is the long one. Raises ValueError where there are not two."""
    entries = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    clips = sorted(
        (Clip(folder / entry["file"], entry["text"], float(entry["seconds"])) for entry in entries),
        key=lambda clip: clip.seconds,
    )
    if len(clips) < 2:
        raise ValueError(f"{MANIFEST} names fewer than two recordings")
    return Speech(clips[:-1], clips[-1])


def repeated(clip: Clip, seconds: float, path: Path) -> Path:
    """Write `clip` again and again, with a second of silence after each, until `seconds` are full; as wav."""
    with wave.open(str(clip.path), "rb") as source, wave.open(str(path), "wb") as target:
        target.setparams(source.getparams())
        width, rate = source.getsampwidth() * source.getnchannels(), source.getframerate()
        piece = source.readframes(source.getnframes()) + bytes(rate * width)
        left = round(seconds * rate) * width
        while left > 0:
            target.writeframesraw(piece[:left])
            left -= len(piece[:left])
    return path


def word_error_rate(clips: Sequence[Clip], texts: Sequence[str]) -> float:
    """Of all the clips together, 0 to 1, after Whisper's normalisation of English."""
    import jiwer
    from whisper_normalizer.english import EnglishTextNormalizer

    normalise = EnglishTextNormalizer()
    return jiwer.wer([normalise(clip.text) for clip in clips], [normalise(text) for text in texts])
