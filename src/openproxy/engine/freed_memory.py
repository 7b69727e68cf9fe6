"""Memory that was freed but is still held by the C library, given back to the system."""

import ctypes
import sys
from collections.abc import Callable

_trim: Callable[[int], int] | None = (
    getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
)
"""Of glibc; other C libraries have none, and hold less."""


def give_back() -> None:
    """Shrink this process to what it uses. Takes milliseconds, and what is given back is slower to come by again."""
    if _trim is not None:
        _trim(0)
