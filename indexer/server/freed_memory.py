"""Returns freed memory to the system: the C library would keep the memory of large past work for every thread."""

import ctypes
from contextlib import suppress


def return_freed_memory() -> None:
    """Return freed memory to the system; with another C library than glibc, do nothing."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
