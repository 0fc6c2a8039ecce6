"""Parallel loops: compiled kernels release the GIL, so plain threads run them on all cores."""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from importlib import import_module
from itertools import count
from threading import Event, Lock, Thread, local
from typing import Any

from moverank.rerank.errors import OutOfTime
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.runtime.imports import load_alone

_KERNELS_BLAS = "scipy.linalg.cython_blas"
_BLOCKS = 8  # for each thread: rows differ in length, so a thread that has finished a block takes the next one
_this_thread = local()


def core_count() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def single_threaded() -> Iterator[None]:
    """Run the parallel loops of this thread in this thread only, because the other cores are busy."""
    before = is_single_threaded()
    _this_thread.single = True
    try:
        yield
    finally:
        _this_thread.single = before


def is_single_threaded() -> bool:
    """Return whether this thread runs its loops alone, as pool threads do: waiting for the pool there deadlocks."""
    return getattr(_this_thread, "single", False)


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread in the whole process, because our own threads call it in parallel.

    BLAS threads busy-wait for more work on the cores that our threads need. A BLAS built on OpenMP has a thread count
    for each calling thread and is not limited; the wheels of numpy and scipy do not use one.
    """
    _BlasLimit.enter()
    try:
        yield
    finally:
        _BlasLimit.leave()


def load_kernels_blas() -> None:
    """Load scipy's BLAS, which compiled kernels call; before, only numpy's BLAS is loaded and limited.

    Few kernels need it. Importing all of scipy.linalg for it would take a tenth of a second.
    """
    _BlasLimit.include_kernels()


class _BlasLimit:
    """The number of users of the BLAS limit: the first sets it, the last restores it.

    A separate thread holds the limit, because threadpoolctl restores it only in the thread that set it, and the last
    user may be another thread than the first.
    """

    _lock = Lock()
    _users = 0
    _includes_kernels = False
    _holder = Thread()
    _released = Event()

    @classmethod
    def enter(cls) -> None:
        with cls._lock:
            if not cls._users:
                cls._set()
            cls._users += 1

    @classmethod
    def leave(cls) -> None:
        with cls._lock:
            cls._users -= 1
            if not cls._users:
                cls._restore()

    @classmethod
    def include_kernels(cls) -> None:
        with cls._lock:
            if cls._includes_kernels:
                return
            _load_blas()
            if cls._users:
                cls._restore()
                cls._set()
            cls._includes_kernels = True

    @classmethod
    def _restore(cls) -> None:
        cls._released.set()
        if cls._holder.ident is not None:  # otherwise the thread could not be started
            cls._holder.join()

    @classmethod
    def _set(cls) -> None:
        is_set, cls._released = Event(), Event()
        cls._holder = Thread(target=_hold_blas_limit, args=(is_set, cls._released), daemon=True)
        try:
            cls._holder.start()
            is_set.wait()
        except BaseException:  # Ctrl-C, or no thread is available: `leave` will not be called
            cls._released.set()
            raise

    @classmethod
    def after_fork(cls) -> None:
        """Replace the lock in a forked process, which lacks the thread that may hold and release it."""
        cls._lock = Lock()


def _load_blas() -> None:
    """Load scipy's BLAS where numba imports it, without scipy.linalg if possible."""
    try:
        sys.modules.setdefault(_KERNELS_BLAS, load_alone(_KERNELS_BLAS, {}))
    except Exception:  # noqa: BLE001 - scipy does not promise that it can be loaded alone
        import_module(_KERNELS_BLAS)


def _hold_blas_limit(is_set: Event, released: Event) -> None:
    """Limit BLAS to one thread until `released` is set; set `is_set` once the limit holds."""
    try:
        with _blas_libraries(kernels=_KERNELS_BLAS in sys.modules).limit(limits=1, user_api="blas"):
            is_set.set()
            released.wait()
    except UnicodeError:  # threadpoolctl fails if the path of a library is not UTF-8, or the locale lacks its letters
        pass  # BLAS keeps its threads, which costs time alone
    finally:
        is_set.set()  # after a failure, too: `_set` waits for it


@cache
def _blas_libraries(*, kernels: bool) -> Any:  # noqa: ARG001 - a key of the cache
    """Return the controller of the loaded BLAS libraries: numpy's, and scipy's if the `kernels`' BLAS is loaded."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def parallel_for(work: Callable[[int, int], None], n: int, small: int = 64, most: int | None = None) -> None:
    """Call `work(first, last)` for disjoint ranges that cover 0 to `n` - 1, on all cores; `last` is exclusive.

    If `n` is below `small`, all ranges run in this thread. A range has at most `most` numbers, which take well under a
    second; None: any range may take long. A loop of at most `most` numbers is not interrupted. Raises what `work`
    raises, and OutOfTime before a range for which no time is left; a failure in the calling thread stops the other
    threads after their current range.
    """
    threads, check = core_count(), check_time if most is None or n > most else _no_check
    alone = n < small or threads == 1 or is_single_threaded()
    block = max(1, min(n if alone else -(-n // (threads * _BLOCKS)), n if most is None else most))
    if alone:
        for first in range(0, n, block):
            check()
            work(first, min(first + block, n))
        return
    block_numbers, stopped = count(), Event()

    def run_blocks() -> None:
        while not stopped.is_set() and (first := next(block_numbers) * block) < n:
            check()
            work(first, min(first + block, n))

    def run_blocks_in_pool() -> None:
        with single_threaded():  # waiting for pool tasks inside the pool deadlocks
            run_blocks()

    tasks = [thread_pool().submit(copy_context().run, run_blocks_in_pool) for _ in range(threads - 1)]
    try:
        run_blocks()
    except BaseException as error:
        stopped.set()
        if isinstance(error, OutOfTime):  # the caller may use the results so far: no thread may still write to them
            wait([task for task in tasks if not task.cancel()])
        raise
    wait(tasks)
    for task in tasks:
        task.result()


def _no_check() -> None:
    """No-op check of a short loop."""


@cache
def thread_pool() -> ThreadPoolExecutor:
    """Return the thread pool of the process, with a thread for each core, created on first use."""
    return ThreadPoolExecutor(core_count(), "moverank")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=thread_pool.cache_clear)
    os.register_at_fork(after_in_child=_BlasLimit.after_fork)
