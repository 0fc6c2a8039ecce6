"""Spreading loops over the cores: kernels let go of Python's lock, so plain threads do."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import count
from threading import Event, Lock, Thread, local
from typing import Any

_BLOCKS = 8  # blocks for each thread: rows differ in length, and who is done first takes the next
_here = local()


def core_count() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def single_threaded() -> Iterator[None]:
    """Keep the loops of this thread to itself: others have work of their own."""
    before = is_single_threaded()
    _here.alone = True
    try:
        yield
    finally:
        _here.alone = before


def is_single_threaded() -> bool:
    """Say whether this thread keeps its loops to itself: if it is one of the pool, waiting for others may never end."""
    return getattr(_here, "alone", False)


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS to the thread that calls it, for this process: it is called by several, each for a part.

    Its own threads wait for more work by spinning, on the cores that ours need. A BLAS built on OpenMP, as those in the
    wheels of numpy and scipy are not, has a number of threads for each caller, and is left as it is.
    """
    _Blas.enter()
    try:
        yield
    finally:
        _Blas.leave()


class _Blas:
    """How many want BLAS to have one thread: the first says so to it, the last takes it back.

    A thread of its own says so and stays until then: threadpoolctl obeys only the thread that spoke first, and here the
    first to come is seldom the last to leave.
    """

    _lock = Lock()
    _wanted = 0
    _keeper = Thread()
    _done = Event()

    @classmethod
    def enter(cls) -> None:
        with cls._lock:
            if not cls._wanted:
                cls._begin()
            cls._wanted += 1

    @classmethod
    def leave(cls) -> None:
        with cls._lock:
            cls._wanted -= 1
            if not cls._wanted:
                cls._done.set()
                cls._keeper.join()

    @classmethod
    def _begin(cls) -> None:
        begun, cls._done = Event(), Event()
        cls._keeper = Thread(target=_keep_alone, args=(begun, cls._done), daemon=True)
        try:
            cls._keeper.start()
            begun.wait()
        except BaseException:  # Ctrl-C, or no thread to be had: nobody will leave
            cls._done.set()
            raise

    @classmethod
    def forked(cls) -> None:
        """Begin anew in a copy of the process, which has no other threads: what they held stays held."""
        cls._lock = Lock()


def _keep_alone(begun: Event, done: Event) -> None:
    """Keep BLAS to one thread until it is done."""
    try:
        with _blas_libraries().limit(limits=1, user_api="blas"):
            begun.set()
            done.wait()
    finally:
        begun.set()  # even where it failed: somebody waits


@cache
def _blas_libraries() -> Any:
    """Return the handles of what BLAS there is in the process: numpy's, and scipy's, which compiled kernels call."""
    from scipy.linalg import cython_blas  # noqa: F401 - loads it
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def parallel_for(work: Callable[[int, int], None], n: int, small: int = 64) -> None:
    """Do `work(first, last)` for ranges that make up 0 to n, on all cores unless n is `small`."""
    threads = core_count()
    if n < small or threads == 1 or is_single_threaded():
        work(0, n)
        return
    block = max(1, -(-n // (threads * _BLOCKS)))
    turns, stopped = count(), Event()

    def drain() -> None:
        while not stopped.is_set() and (first := next(turns) * block) < n:
            work(first, min(first + block, n))

    def help_out() -> None:
        with single_threaded():  # who waits for others of the pool while all of them do waits for ever
            drain()

    others = [thread_pool().submit(help_out) for _ in range(threads - 1)]
    try:
        drain()
    except BaseException:
        stopped.set()
        raise
    for other in others:
        other.result()


@cache
def thread_pool() -> ThreadPoolExecutor:
    """Return the threads that are kept for the next loop."""
    return ThreadPoolExecutor(core_count(), "moverank")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=thread_pool.cache_clear)
    os.register_at_fork(after_in_child=_Blas.forked)
