"""`secret.key`: the 32 random bytes that seal the secrets of a data directory without a passphrase (mode 0600)."""

import contextlib
import os
import tempfile
from pathlib import Path

from openproxy.errors import StoreUnusable
from openproxy.store.sealing import KEY_BYTES

NAME = "secret.key"
_NEXT = "secret.key.next"


def read(folder: Path) -> bytes | None:
    """The key; None where there is no file. Raises StoreUnusable where the file is not a key."""
    return _read(folder / NAME)


def read_next(folder: Path) -> bytes | None:
    """The key of a rotation that was cut off before it was put in place; None where there is none."""
    return _read(folder / _NEXT)


def create(folder: Path) -> bytes:
    """The key, made when there is none. Of several processes that make one at once, all get the same."""
    path = folder / NAME
    if (key := _read(path)) is not None:
        return key
    written = _write(folder, os.urandom(KEY_BYTES))
    try:
        # A link appears whole or not at all, and never replaces another.
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(written)
    except OSError as error:
        raise _unusable(error) from error
    finally:
        written.unlink()
    key = _read(path)
    if key is None:
        raise StoreUnusable(f"The key file {NAME} was removed while it was being made")
    return key


def prepare_next(folder: Path) -> bytes:
    """A new key, written beside the one in use, which stays in use until `promote`."""
    key = os.urandom(KEY_BYTES)
    _write(folder, key).replace(folder / _NEXT)
    return key


def promote(folder: Path) -> None:
    """Put the next key in the place of the one in use."""
    with contextlib.suppress(FileNotFoundError):
        (folder / _NEXT).replace(folder / NAME)


def _read(path: Path) -> bytes | None:
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(error) from error
    if len(key) != KEY_BYTES:
        raise StoreUnusable(f"The key file {path.name} holds {len(key)} bytes instead of {KEY_BYTES}")
    return key


def _write(folder: Path, key: bytes) -> Path:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f"{NAME}.", dir=folder)  # mkstemp makes it 0600
        with os.fdopen(handle, "wb") as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _unusable(error) from error
    return Path(name)


def _unusable(error: OSError) -> StoreUnusable:
    return StoreUnusable(f"The key file {NAME} cannot be used: {error.strerror or type(error).__name__}")
