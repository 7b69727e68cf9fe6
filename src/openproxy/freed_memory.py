"""Memory that was freed and is still held by the C library: how much of it, and when it goes back to the system."""

import ctypes
import sys
from collections.abc import Callable

_library = ctypes.CDLL(None) if sys.platform == "linux" else None
_trim: Callable[[int], int] | None = getattr(_library, "malloc_trim", None)
"""Of glibc, as `mallopt`; other C libraries have none, and hold less."""
_mallopt: Callable[[int, int], int] | None = getattr(_library, "mallopt", None)

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""glibc's malloc.h."""
_HELD_BYTES = 16 * 1024 * 1024
_ONE_BYTES = 1 * 1024 * 1024
"""A buffer of this size and more is given back at once."""


def hold_little(stores: int = 2) -> None:
    """Let threads share what is freed, in so many stores instead of one for each; at the start of a process."""
    if _mallopt is not None:
        _mallopt(_ARENA_MAX, stores)


def hold_some() -> None:
    """Hold 16 MB for buffers that come and go, in one store for all threads; at the start of a process.

    A buffer for a piece of an upload is freed soon, and the next one like it would be made of new pages of the system,
    which cost more than all that is done with the piece.
    """
    if _mallopt is not None:
        _mallopt(_ARENA_MAX, 1)
        _mallopt(_TRIM_THRESHOLD, _HELD_BYTES)
        _mallopt(_MMAP_THRESHOLD, _ONE_BYTES)


def give_back() -> None:
    """Shrink this process to what it uses. Takes milliseconds, and what is given back is slower to come by again."""
    if _trim is not None:
        _trim(0)
