"""Where the transcripts of a run go, from the recordings, the formats and `--output`."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openproxy.cli.inputs import STDIN, Recording
from openproxy.cli.outputs import Output, plan
from openproxy.errors import BadRequest

FORMAT_OF = {".txt": "text", ".json": "json", ".srt": "srt", ".vtt": "vtt"}
"""The format that a file name asks for where none is named."""


@dataclass(frozen=True, slots=True)
class Destination:
    """What is written where."""

    shown: str | None
    """The format in which transcripts go to standard output, None where they do not."""
    headers: bool
    """Whether a line with its name stands before each of them."""
    files: tuple[tuple[Output, ...], ...]
    """For each recording, the files that its transcript is written to."""

    @property
    def formats(self) -> tuple[str, ...]:
        """All formats that are made."""
        wanted = [output.format for outputs in self.files for output in outputs]
        return tuple(dict.fromkeys([*([self.shown] if self.shown else []), *wanted]))


def choose(
    recordings: Sequence[Recording], formats: Sequence[str], output: str | None, *, json_lines: bool = False
) -> Destination:
    """The destination of `recordings` in `formats` (none: text) under `--output`; raises BadRequest where they disagree.

    Without `output`: one recording goes to standard output in one format; several go there as text under a line with
    their name if no format was asked for, else into files beside the recordings. Standard output that belongs to
    JSON lines takes none.
    """
    names = tuple(dict.fromkeys(formats))
    several = len(recordings) != 1 or recordings[0].found
    if output == STDIN:
        if json_lines:
            raise BadRequest("standard output holds the JSON lines: name a folder for the transcripts", param="output")
        return _standard_output(names, several)
    if output is not None:
        return _named(recordings, names, output, several)
    if json_lines and not names:
        return Destination(None, headers=False, files=tuple(() for _ in recordings))
    if not json_lines and (not names or (not several and len(names) == 1)):
        return _standard_output(names, several)
    if not several and recordings[0].path is None:
        raise BadRequest("several formats of standard input need a folder", param="output")
    return _files(recordings, names, None)


def _standard_output(names: Sequence[str], several: bool) -> Destination:
    name = names[0] if names else "text"
    if len(names) > 1 or (several and name != "text"):
        raise BadRequest(
            "standard output takes one format, and of several recordings only text: name a folder", param="output"
        )
    return Destination(name, headers=several, files=())


def _named(recordings: Sequence[Recording], names: Sequence[str], output: str, several: bool) -> Destination:
    path = Path(output)
    folder = path.is_dir() or output.endswith(("/", os.sep))
    file = not folder and (path.exists() or path.suffix.lower() in FORMAT_OF or (path.suffix and not several))
    if file and (several or len(names) > 1):
        raise BadRequest(
            f"{output} names one file, which takes one recording in one format: name a folder", param="output"
        )
    if file:
        name = names[0] if names else FORMAT_OF.get(path.suffix.lower(), "text")
        return Destination(None, headers=False, files=((Output(name, path),),))
    return _files(recordings, names or ("text",), path)


def _files(recordings: Sequence[Recording], names: Sequence[str], folder: Path | None) -> Destination:
    good = [recording for recording in recordings if recording.problem is None]
    planned = iter(plan(good, names, folder))
    files = tuple(next(planned) if recording.problem is None else () for recording in recordings)
    return Destination(None, headers=False, files=files)
