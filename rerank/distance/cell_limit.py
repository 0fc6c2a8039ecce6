"""The limit of memory for cost matrices: the number of cells that all threads of the process may hold together.

An exact distance of n and m distinct words, without shared words, needs a matrix of n m cells of about 20 bytes each,
so that the default limit is about 2.5 GiB. Lower bounds are computed in portions where they can be.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

from moverank.rerank.errors import OptionError, TooLarge
from moverank.rerank.runtime import deadline
from moverank.rerank.runtime.thread_pool import single_threaded

_SMALL = 2**18  # smaller matrices, as of short texts, are not counted
_POLL = 0.05  # seconds between two checks of the deadline while a thread waits for others


class _Cells:
    """The limit of cells, and the number of reserved ones."""

    most = 2**27
    reserved = 0
    freed = Condition()

    @classmethod
    def after_fork(cls) -> None:
        """Forget the reservations of threads that do not exist in a forked process."""
        cls.reserved, cls.freed = 0, Condition()


def limit_cells(most: int) -> None:
    """Allow cost matrices of `most` cells in the memory of this process, at about 20 bytes each (default: 2^27).

    An exact distance of n and m distinct words needs n m cells. A search that needs more raises TooLarge; threads whose
    matrices exceed the limit only together wait for each other. Raises OptionError unless `most` is 1 or more.
    """
    if most < 1:
        raise OptionError(f"the limit of cells must be 1 or more, not {most}")
    _Cells.most = most


def most_cells() -> int:
    """Return the limit."""
    return _Cells.most


def check_cells(n: int, m: int) -> None:
    """Raise TooLarge for a matrix of `n` x `m` words beyond the limit."""
    if n * m > _Cells.most:
        raise TooLarge(
            f"texts of {n:,} and {m:,} distinct words are too large to compare exactly: their cost matrix would have "
            f"{n * m:,} cells, and the limit is {_Cells.most:,}; shorten one of them, or split it into parts"
        )


@contextmanager
def reserved_cells(n: int, m: int) -> Iterator[None]:
    """Count a matrix of `n` x `m` words during the block, once there is room for it; TooLarge if there never is.

    Loops in the block run in this thread: threads of the pool may be waiting for the end of the block.
    """
    check_cells(n, m)
    cells = n * m
    if cells <= _SMALL:
        yield
        return
    with _Cells.freed:
        while _Cells.reserved and _Cells.reserved + cells > _Cells.most:
            _Cells.freed.wait(_POLL)
            deadline.check_time()
        _Cells.reserved += cells
    try:
        with single_threaded():
            yield
    finally:
        with _Cells.freed:
            _Cells.reserved -= cells
            _Cells.freed.notify_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Cells.after_fork)
