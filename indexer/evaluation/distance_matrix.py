"""All distances of many questions from all documents, on all cores.

The exact solver keeps Python's lock, so threads would take turns: where there is much to do, processes do it.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import repeat
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.evaluation.distance_cache import CachedTable
from moverank.indexer.progress import Progress
from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance.query_bag import QueryBag, restricted
from moverank.rerank.ranking import Distance
from moverank.rerank.reranker import nearest
from moverank.rerank.runtime.threads import core_count, single_threaded, single_threaded_blas

MANY = 4000
"""Problems that are worth a process for each core, which takes some seconds to begin."""

Given = tuple[Bags, Bags, NDArray[np.float32]]
Task = tuple[int, NDArray[np.int64]]
Answer = tuple[int, NDArray[np.int64], NDArray[np.float64]]


def solve_all(
    distance: Distance,
    given: Given,
    table: CachedTable,
    wanted: NDArray[np.bool_] | None = None,
    *,
    symmetric: bool,
    progress: Progress,
) -> None:
    """Fill a table with the distances of asked bags from bags over word vectors (v, d), as far as they are missing.

    `wanted` (q, n) are those that are missed, all where it is None. `symmetric` says that both are the same: each pair
    is computed once.
    """
    if symmetric:
        table.mirror()
    tasks = _tasks(table, wanted, symmetric=symmetric)
    total, done = sum(len(places) for _, places in tasks), 0
    with _solver(given, total if distance in ("wmd", "pwmd") else 0) as answers:
        for row, places, distances in answers(distance, tasks):
            table.keep(row, places, distances, symmetric=symmetric)
            done += len(places)
            progress(f"Computing {distance.upper()}", done, total, "distances")


def _tasks(table: CachedTable, wanted: NDArray[np.bool_] | None, *, symmetric: bool) -> list[Task]:
    """Return what is missing, row by row."""
    missing = [(row, table.missing(row)) for row in range(table.shape[0])]
    if wanted is not None:
        return [(row, places[wanted[row, places]]) for row, places in missing if wanted[row, places].any()]
    if symmetric:
        missing = [(row, places[places >= row]) for row, places in missing]
    return [(row, places) for row, places in missing if len(places)]


class _Answers(Protocol):
    def __call__(self, distance: Distance, tasks: list[Task]) -> Iterator[Answer]: ...


@contextmanager
def _solver(given: Given, problems: int) -> Iterator[_Answers]:
    """Give what answers tasks: here, or in a process for each core."""
    if problems < MANY or core_count() == 1:
        yield lambda distance, tasks: map(partial(_answer, given, distance), tasks)
        return
    # Not forked: the threads of this process hold locks that nobody would ever open in a copy.
    context = get_context("spawn")
    with ProcessPoolExecutor(core_count(), context, _Worker.begin, given) as workers:
        try:
            yield lambda distance, tasks: workers.map(_Worker.answer, repeat(distance), tasks)
        except BaseException:
            workers.shutdown(wait=False, cancel_futures=True)
            raise


class _Worker:
    """What a process was given when it began."""

    given: Given

    @classmethod
    def begin(cls, asked: Bags, bags: Bags, vectors: NDArray[np.float32]) -> None:
        cls.given = asked, bags, vectors
        Thread(target=_end_with_parent, daemon=True).start()

    @classmethod
    def answer(cls, distance: Distance, task: Task) -> Answer:
        return _answer(cls.given, distance, task)


def _end_with_parent() -> None:
    """Wait until the process that began this one is gone, killed perhaps, and go too: nobody else will end it."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _answer(given: Given, distance: Distance, task: Task) -> Answer:
    """Return the distances (m,) of the documents of a task from its question, on one core."""
    (asked, bags, vectors), (row, places) = given, task
    bag = asked[row]
    with single_threaded(), single_threaded_blas():
        some = restricted(QueryBag(bag, vectors[bag.words]), bags.take(places), vectors)
        found = nearest(some[0], some[1], some[2], len(places), distance, norms=some[3])
    distances = np.empty(len(places))
    distances[found.rows] = found.distances
    return row, places, distances
