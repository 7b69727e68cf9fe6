"""Where the transcripts of a run go: names that never meet, and files that are whole or not there."""

import os
import secrets
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from openproxy import formats
from openproxy.cli.inputs import Recording


@dataclass(frozen=True, slots=True)
class Output:
    """One file to write."""

    format: str
    path: Path


def suffixes(names: Sequence[str]) -> dict[str, str]:
    """Format -> what follows the stem of a file in it; formats that share an extension say their name before it."""
    extensions = {name: formats.extension(name) for name in names}
    shared = Counter(extensions.values())
    return {
        name: extension if shared[extension] == 1 or extension == f".{name}" else f".{name}{extension}"
        for name, extension in extensions.items()
    }


def plan(recordings: Sequence[Recording], names: Sequence[str], folder: Path | None) -> list[tuple[Output, ...]]:
    """The files that each recording is written to, in the order of `recordings`.

    `folder` takes them all, with the sub-folders that were walked; None puts each beside its recording. A file is
    called like its recording with another extension (`talk.srt`). Recordings that would share a name keep their own
    extension in it (`talk.mp3.srt`, `talk.wav.srt`); those that still do are counted (`talk.mp3-2.srt`).
    """
    places = [_place(recording, folder) for recording in recordings]
    short = [place / _stem(recording) for place, recording in zip(places, recordings, strict=True)]
    crowd = Counter(map(_key, short))
    endings = suffixes(names)
    taken: set[str] = set()
    planned = []
    for base, place, recording in zip(short, places, recordings, strict=True):
        stem = base if crowd[_key(base)] == 1 else place / _full_name(recording)
        chosen, number = stem, 1
        while any(_key(_ending(chosen, ending)) in taken for ending in endings.values()):
            number += 1
            chosen = stem.with_name(f"{stem.name}-{number}")
        outputs = tuple(Output(name, _ending(chosen, ending)) for name, ending in endings.items())
        taken.update(_key(output.path) for output in outputs)
        planned.append(outputs)
    return planned


def write(path: Path, body: bytes) -> None:
    """Put `body` at `path` in one step, making its folder where needed: a reader sees the old file or all of the new one.

    Raises OSError, whose text names the file, and then leaves nothing behind.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, body)
    except OSError as error:
        raise OSError(error.errno, f"{path} cannot be written: {error.strerror or error}") from error


def _write(path: Path, body: bytes) -> None:
    part = path.with_name(f".openproxy-{secrets.token_hex(8)}.part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:  # noqa: PTH123 - descriptor
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _place(recording: Recording, folder: Path | None) -> Path:
    if folder is not None:
        return folder / recording.below
    return recording.path.parent if recording.path is not None else Path()


def _full_name(recording: Recording) -> str:
    return recording.name if recording.path is None else recording.path.name


def _stem(recording: Recording) -> str:
    return PurePath(_full_name(recording)).stem


def _ending(base: Path, ending: str) -> Path:
    return base.with_name(base.name + ending)


def _key(path: Path) -> str:
    """The same for two paths that some file systems take for one: upper and lower case, composed and decomposed letters."""
    return unicodedata.normalize("NFC", str(path.absolute())).casefold()
