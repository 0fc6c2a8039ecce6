"""Spares the garbage collector the objects that were there before a long run."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_in_use = Lock()


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Leave all present objects out of garbage collection until the end of the block.

    The imported libraries alone are some hundred thousand objects, which every full collection would traverse: an
    eighth of the time of indexing. Objects made in the block are collected as usual. If the program has frozen objects
    itself, or another thread is in such a block, nothing is done: these would be released at the end.
    """
    if not _in_use.acquire(blocking=False):  # counting frozen objects visits each of them
        yield
        return
    try:
        if gc.get_freeze_count():
            yield
            return
        gc.freeze()
        try:
            yield
        finally:
            gc.unfreeze()
    finally:
        _in_use.release()
