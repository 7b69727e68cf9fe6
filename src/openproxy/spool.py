"""Files for large uploads: private, temporary, and gone soon even where their process was killed.

A process holds a lock (flock) on each of its files until it closes them or ends, in whatever way it ends. What nobody has
locked was left by a killed process, and the next one deletes it.
"""

import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

PREFIX = "openproxy-upload-"
"""How their names begin."""

_swept: set[Path | None] = set()


def create(folder: Path | None = None) -> tuple[BinaryIO, Path]:
    """A new empty file that only its owner can read, open for writing, and its path; it is locked until it is closed.

    `folder` is where it is made, None the system's own for temporary files. The first one that a process makes there
    deletes what killed processes left. Raises OSError.
    """
    if folder not in _swept:
        sweep(folder)
    while True:
        handle, name = tempfile.mkstemp(prefix=PREFIX, dir=folder)
        if _locked(handle):
            return os.fdopen(handle, "wb"), Path(name)
        os.close(handle)


def sweep(folder: Path | None = None) -> None:
    """Delete the files of this user in `folder` whose process is gone. Files that cannot be deleted stay."""
    _swept.add(folder)
    if sys.platform == "win32":
        return
    import fcntl

    with suppress(OSError):
        for path in Path(folder or tempfile.gettempdir()).glob(f"{PREFIX}*"):
            with suppress(OSError):
                handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    found = os.fstat(handle)
                    if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
                        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        path.unlink()
                finally:
                    os.close(handle)


def _locked(handle: int) -> bool:
    """Lock a file that was just made; False where another process sweeps, and has found it first."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: nobody can sweep there
        return True
    return os.fstat(handle).st_nlink > 0
