"""All distances of many queries from all documents, on all cores.

Most of the work on an exact distance holds Python's global interpreter lock, so many distances are computed by
several processes.
"""

import logging
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import repeat
from multiprocessing import get_context
from multiprocessing.connection import Connection

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.evaluation.distance_cache import CachedTable
from moverank.indexer.progress import Progress
from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance.nearest import all_distances
from moverank.rerank.distance.query_bag import QueryBag, restricted
from moverank.rerank.ranking import Distance
from moverank.rerank.runtime.deferred_signals import deferred_signals
from moverank.rerank.runtime.exit_when import exit_when_ready
from moverank.rerank.runtime.threads import core_count, single_threaded, single_threaded_blas

MANY = 4000
"""Number of distances from which a process for each core is faster: processes take seconds to start."""

LONG = 100_000
"""Number of distances that takes about a minute, and is reported before."""

_log = logging.getLogger("moverank")

Inputs = tuple[Bags, Bags, NDArray[np.float32]]
"""Query bags, document bags and word vectors (v, d)."""
Job = tuple[int, NDArray[np.int64]]
"""A query, and the documents (m,) whose distances from it are missing."""
Solved = tuple[int, NDArray[np.int64], NDArray[np.float64]]
"""A query, documents (m,) and their distances (m,)."""
Solver = Callable[[Distance, list[Job]], Iterator[Solved]]


def solve_all(
    distance: Distance,
    inputs: Inputs,
    table: CachedTable,
    wanted: NDArray[np.bool_] | None = None,
    *,
    symmetric: bool,
    progress: Progress,
) -> None:
    """Compute the values of `distance` that `table` (q, n) lacks.

    `inputs` are the query bags, the document bags and their word vectors. `wanted` (q, n) are the entries to compute,
    None: all. `symmetric`: query bags and document bags are the same, and each pair is computed once. `progress` is
    called after each query.
    """
    if symmetric:
        table.mirror()
    jobs = _jobs(table, wanted, symmetric=symmetric)
    total, done = sum(len(columns) for _, columns in jobs), 0
    if total >= LONG:
        _log.warning("%s distances by %s are to be computed", f"{total:,}", distance.upper())
    with _solver(inputs, total if distance in ("wmd", "pwmd") else 0) as solve:
        for row, columns, distances in solve(distance, jobs):
            table.store(row, columns, distances, symmetric=symmetric)
            done += len(columns)
            progress(f"Computing {distance.upper()}", done, total, "distances")


def _jobs(table: CachedTable, wanted: NDArray[np.bool_] | None, *, symmetric: bool) -> list[Job]:
    """Return the missing entries of the table, row by row."""
    missing = [(row, table.missing(row)) for row in range(table.shape[0])]
    if wanted is not None:
        return [(row, columns[wanted[row, columns]]) for row, columns in missing if wanted[row, columns].any()]
    if symmetric:
        missing = [(row, columns[columns >= row]) for row, columns in missing]
    return [(row, columns) for row, columns in missing if len(columns)]


@contextmanager
def _solver(inputs: Inputs, count: int) -> Iterator[Solver]:
    """Yield a function that computes distances in this process or, if `count` is large, in one process per core."""
    if count < MANY or core_count() == 1:
        yield lambda distance, jobs: map(partial(_solve, inputs, distance), jobs)
        return
    # A forked process would inherit locks held by threads of this one, which are never released there.
    context = get_context("spawn")
    watched, held = context.Pipe(duplex=False)
    with ProcessPoolExecutor(core_count(), context, _Worker.start, (*inputs, watched)) as workers:
        try:
            yield partial(_started, workers)
        except BaseException:
            held.close()
            workers.shutdown(cancel_futures=True)
            raise
    held.close()


def _started(workers: ProcessPoolExecutor, distance: Distance, jobs: list[Job]) -> Iterator[Solved]:
    """Submit all jobs, which starts the processes, and yield the results in order."""
    with deferred_signals():
        return workers.map(_Worker.solve, repeat(distance), jobs)


class _Worker:
    """The state of a process of the pool, which receives the inputs once, at its start."""

    inputs: Inputs

    @classmethod
    def start(cls, queries: Bags, bags: Bags, vectors: NDArray[np.float32], watched: Connection) -> None:
        cls.inputs = queries, bags, vectors
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the parent decides
        exit_when_ready(watched)  # when the parent closes its end, or is killed and cannot stop us

    @classmethod
    def solve(cls, distance: Distance, job: Job) -> Solved:
        return _solve(cls.inputs, distance, job)


def _solve(inputs: Inputs, distance: Distance, job: Job) -> Solved:
    """Compute the distances of a job on one core."""
    (queries, bags, vectors), (row, columns) = inputs, job
    bag = queries[row]
    with single_threaded(), single_threaded_blas():
        query, documents, words, norms = restricted(QueryBag(bag, vectors[bag.words]), bags.take(columns), vectors)
        return row, columns, all_distances(query, documents, words, distance, norms)
