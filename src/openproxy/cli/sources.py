"""What a recording is read from: its file, or a copy of what came through a pipe."""

import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

from openproxy.upload import Upload


def open_source(path: Path | None, kept: ExitStack) -> Path | bytes:
    """`path` itself if it can be read more than once; else all that it gives, kept until `kept` is closed.

    None is standard input. Decoding wants to seek, which a pipe cannot: what comes through one is copied, in memory up
    to a megabyte, beyond that in a temporary file. Raises OSError.
    """
    if path is not None and path.is_file():
        return path
    upload = kept.enter_context(Upload())
    if path is None:
        shutil.copyfileobj(sys.stdin.buffer, upload)
    else:
        with path.open("rb") as pipe:
            shutil.copyfileobj(pipe, upload)
    upload.finish()
    return upload.source
