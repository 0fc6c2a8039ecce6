"""The protocol of rankers in an experiment, and code that its implementations share."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.progress import Progress
from moverank.indexer.reranking.counted_texts import Texts


class Ranker(Protocol):
    """Ranks the documents of one pool by their distances from queries."""

    def distances(self, queries: Texts, progress: Progress) -> Iterator[NDArray[np.float64]]:
        """Yield the distances (n,) of each query; infinite for documents that cannot be ranked."""
        ...

    def nearest(self, queries: Texts, k: int, progress: Progress) -> NDArray[np.int64]:
        """Return the rows (q, `k`) of the documents nearest to each of `queries`, nearest first; -1 for none.

        `progress` is called after each query.
        """
        ...


class ExhaustiveRanker(ABC):
    """A `Ranker` that computes all distances in order to find the nearest documents."""

    @abstractmethod
    def distances(self, queries: Texts, progress: Progress) -> Iterator[NDArray[np.float64]]:
        """See `Ranker.distances`."""

    def nearest(self, queries: Texts, k: int, progress: Progress) -> NDArray[np.int64]:
        """See `Ranker.nearest` for `queries`, `k` and `progress`."""
        return nearest_of(self.distances(queries, progress), len(queries), k)


class RandomRanker(ExhaustiveRanker):
    """Ranks at random, with a fixed seed."""

    def __init__(self, pool: Texts) -> None:
        self._n = len(pool)

    def distances(self, queries: Texts, progress: Progress) -> Iterator[NDArray[np.float64]]:
        """See `Ranker.distances`."""
        generator = np.random.default_rng(0)
        for row in range(len(queries)):
            progress("Drawing", row + 1, len(queries), "queries")
            yield generator.permutation(self._n).astype(np.float64)


def nearest_of(distances: Iterable[NDArray[np.float64]], count: int, k: int) -> NDArray[np.int64]:
    """Return the rows (`count`, `k`) of the smallest finite `distances` (n,) of `count` queries; -1 for none.

    Equal distances keep the order of the documents.
    """
    nearest = np.full((count, k), -1, np.int64)
    for query, row in enumerate(distances):
        order = np.argsort(row, kind="stable")[:k]
        order = order[np.isfinite(row[order])]
        nearest[query, : len(order)] = order
    return nearest


def all_rows(
    computed: Iterable[NDArray[np.float64]], query_rows: NDArray[np.int64], rows: NDArray[np.int64], count: int, n: int
) -> Iterator[NDArray[np.float64]]:
    """Yield the distances (n,) of each of `count` queries from all `n` documents.

    `computed` are the distances (m,) of the queries `query_rows`, in order, from the documents `rows` (m,). All others
    are infinite: these queries or documents cannot be ranked.
    """
    remaining, computed_for = iter(computed), set(query_rows.tolist())
    for query in range(count):
        distances = np.full(n, np.inf)
        if query in computed_for:
            distances[rows] = next(remaining)
        yield distances
