"""The digits model and its clips: a tiny audio chat model that hears twenty words, in two languages."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from openproxy.audio import open_audio

FOLDER = Path(__file__).parents[1] / "data" / "models" / "digits"
GGUF = FOLDER / "gguf" / "digits.gguf"
PROJECTOR = FOLDER / "gguf" / "mmproj-digits.gguf"


@dataclass(frozen=True)
class Spoken:
    """A clip with the words in it, and which backends are known to get them all right in both languages."""

    path: Path
    en: str
    de: str
    right: bool
    llama_right: bool

    def words(self, language: str) -> str:
        return self.de if language == "de" else self.en

    @property
    def samples(self) -> NDArray[np.float32]:
        """(samples,) mono, 16 kHz."""
        return read(self.path)


def read(path: Path) -> NDArray[np.float32]:
    with open_audio(path) as audio:
        return np.concatenate(list(audio.blocks()))


@cache
def clips() -> tuple[Spoken, ...]:
    manifest = json.loads((FOLDER / "clips" / "manifest.json").read_text())
    return tuple(
        Spoken(FOLDER / "clips" / entry["file"], entry["en"], entry["de"], entry["right"], entry["llama_right"])
        for entry in manifest
    )


RIGHT = tuple(clip for clip in clips() if clip.right)
"""What transformers gets right."""
LLAMA_RIGHT = tuple(clip for clip in clips() if clip.llama_right)
"""What llama.cpp gets right."""
