"""Memory that was freed but is still held by the C library, given back to the system."""

import ctypes
import sys
from collections.abc import Callable

_library = ctypes.CDLL(None) if sys.platform == "linux" else None
_trim: Callable[[int], int] | None = getattr(_library, "malloc_trim", None)
"""Of glibc, as `mallopt`; other C libraries have none, and hold less."""
_mallopt: Callable[[int, int], int] | None = getattr(_library, "mallopt", None)

_ARENA_MAX = -8
"""glibc's malloc.h."""


def hold_little() -> None:
    """Let threads share what is freed, two stores in all instead of one for each; at the start of a process."""
    if _mallopt is not None:
        _mallopt(_ARENA_MAX, 2)


def give_back() -> None:
    """Shrink this process to what it uses. Takes milliseconds, and what is given back is slower to come by again."""
    if _trim is not None:
        _trim(0)
