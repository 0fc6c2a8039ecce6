"""Results in the order of their items, computed ahead of the caller on the thread pool."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from typing import TypeVar

from moverank.rerank.runtime.threads import core_count, single_threaded, single_threaded_blas, thread_pool

Item = TypeVar("Item")
Result = TypeVar("Result")

_AHEAD = 4  # items for each core that are submitted before the caller waits for a result


def map_ahead(
    work: Callable[[Item], Result], items: Iterable[Item], initialises: Callable[[Item], bool] = lambda _: True
) -> Generator[tuple[Item, Result]]:
    """Yield each of `items` with `work(item)`, in order; results are computed ahead, each in a single thread.

    `initialises(item)` returns whether the work on an item initialises what all items share (compiles a kernel, maps a
    file): until the first such result has been yielded, items are computed one by one. Raises what `work` raises, and
    then cancels the items that have not started.
    """

    def work_alone(item: Item) -> Result:
        with single_threaded(), single_threaded_blas():
            return work(item)

    pending: deque[tuple[Item, Future[Result]]] = deque()
    opened = False
    try:
        for item in items:
            pending.append((item, thread_pool().submit(work_alone, item)))
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
