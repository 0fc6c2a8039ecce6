"""Results in the order of their items, computed ahead of the caller on the thread pool; batches; shared contexts.

Several threads can use a shared context at the same time.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager
from contextvars import copy_context
from itertools import islice
from threading import Lock
from typing import TypeVar

from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.runtime.thread_pool import (
    core_count,
    is_single_threaded,
    single_threaded,
    single_threaded_blas,
    thread_pool,
)

Item = TypeVar("Item")
Result = TypeVar("Result")

_AHEAD = 4  # items for each core that are submitted before the caller waits for a result


def map_ahead(
    work: Callable[[Item], Result], items: Iterable[Item], initialises: Callable[[Item], bool] = lambda _: True
) -> Generator[tuple[Item, Result]]:
    """Yield each of `items` with `work(item)`, in order; results are computed ahead, each in a single thread.

    `initialises(item)` returns whether the work on an item initialises a shared resource (compiles a kernel, maps a
    file): until the first such result has been yielded, items are computed one by one. Raises what `work` raises, and
    then cancels the items that have not started. The deadline of the caller is the deadline of each item. A thread that
    runs its loops alone computes items itself, when they are needed.
    """

    def work_alone(item: Item) -> Result:
        with single_threaded(), single_threaded_blas():
            return work(item)

    if is_single_threaded():  # waiting for pool tasks inside the pool deadlocks
        for item in items:
            check_time()
            yield item, work(item)
        return
    pending: deque[tuple[Item, Future[Result]]] = deque()
    opened = False
    try:
        for item in items:
            check_time()
            pending.append((item, thread_pool().submit(copy_context().run, work_alone, item)))
            while pending and (not opened or len(pending) > _AHEAD * core_count()):
                first, future = pending.popleft()
                yield first, future.result()
                opened = opened or initialises(first)
        while pending:
            first, future = pending.popleft()
            yield first, future.result()
    finally:
        for _, future in pending:
            future.cancel()


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Iterate over lists of `size` items; the last may be shorter."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


class SharedContext:
    """The context that `make` returns, entered with the first concurrent user and exited with the last."""

    def __init__(self, make: Callable[[], AbstractContextManager[object]]) -> None:
        self._make, self._lock, self._users = make, Lock(), 0
        self._context = make()

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                self._context = self._make()
                self._context.__enter__()
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._context.__exit__(None, None, None)
