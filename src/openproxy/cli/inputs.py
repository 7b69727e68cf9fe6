"""From the arguments of a command to the recordings that they mean: files, folders, patterns, standard input."""

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

STDIN = "-"

# fmt: off
EXTENSIONS = frozenset((
    ".3ga", ".3gp", ".aac", ".ac3", ".aif", ".aifc", ".aiff", ".amr", ".ape", ".au", ".avi", ".caf", ".flac",
    ".flv", ".m4a", ".m4b", ".m4v", ".mka", ".mkv", ".mov", ".mp2", ".mp3", ".mp4", ".mpeg", ".mpg", ".mpga",
    ".oga", ".ogg", ".ogv", ".opus", ".rf64", ".snd", ".spx", ".tta", ".ts", ".w64", ".wav", ".wave", ".weba",
    ".webm", ".wma", ".wmv", ".wv",
))
# fmt: on
"""What counts as a recording where a folder is given; a file that is named itself may be called anything."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One thing to transcribe."""

    name: str
    """What messages call it: the path as the user would write it, or `stdin`."""
    path: Path | None
    """Where it lies; None is standard input."""
    found: bool = False
    """Whether it was found in a folder rather than named."""
    below: PurePath = field(default_factory=PurePath)
    """The folder that it lies in, as seen from the folder argument; empty for what was named."""
    problem: str | None = None
    """Why there is nothing to read, where that is known already."""


def expand(arguments: Sequence[str], *, recursive: bool = False) -> list[Recording]:
    """The recordings that `arguments` mean, in their order, each once.

    An argument is a file, `-`, a folder (the recordings in it; with `recursive` also those in its sub-folders), or a
    pattern that the shell left alone. One that means nothing becomes a Recording with a `problem`.
    """
    seen: set[str] = set()
    recordings = []
    for argument in arguments:
        for recording in _meant(argument, recursive):
            place = STDIN if recording.path is None else os.path.abspath(recording.path)  # noqa: PTH100 - keeps symlinks
            if place not in seen:
                seen.add(place)
                recordings.append(recording)
    return recordings


def _meant(argument: str, recursive: bool) -> Iterator[Recording]:
    if argument == STDIN:
        yield Recording("stdin", None)
        return
    matches = [argument]
    if not os.path.lexists(argument) and glob.has_magic(argument):
        matches = sorted(glob.glob(argument, recursive=True))  # noqa: PTH207 - as the shell would
        if not matches:
            yield Recording(argument, Path(argument), problem="no file matches this pattern")
    for match in matches:
        path = Path(match)
        if not match:
            # pathlib takes an empty name, as of an unset variable, for the current folder
            yield Recording("''", path, problem="an empty name means no file")
        elif path.is_dir():
            yield from _in_folder(path, recursive)
        elif path.exists():
            yield Recording(match, path)
        else:
            yield Recording(match, path, problem="there is no such file")


def _in_folder(folder: Path, recursive: bool) -> Iterator[Recording]:
    empty = True
    unreadable: list[OSError] = []
    for root, folders, files in os.walk(folder, onerror=unreadable.append):
        folders[:] = sorted(name for name in folders if recursive and not name.startswith("."))
        for name in sorted(files):
            path = Path(root, name)
            if not name.startswith(".") and path.suffix.lower() in EXTENSIONS and not _special(path):
                empty = False
                yield Recording(str(path), path, found=True, below=path.parent.relative_to(folder))
    for error in unreadable:
        yield Recording(str(error.filename), Path(error.filename), found=True, problem=error.strerror or str(error))
    if empty and not unreadable:
        hint = "" if recursive else " (its sub-folders are read with --recursive)"
        yield Recording(str(folder), folder, found=True, problem=f"there is no recording in this folder{hint}")


def _special(path: Path) -> bool:
    """Whether it is a pipe, a socket or a device: what a folder happens to hold of these is no recording."""
    return path.is_fifo() or path.is_socket() or path.is_char_device() or path.is_block_device()
