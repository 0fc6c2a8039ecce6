"""The nearest pairs of many bags by the exact Word Mover's Distance.

WCD, a matrix product of centroids, excludes nearly all pairs: the limit is far below a typical distance. The cascade
searches the remaining pairs of each bag, with the limit as the largest distance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.bounds import wcd_from_squares
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.encoders.centroid import centroids
from moverank.rerank.ranking import StageCounts
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.runtime.parallel import map_ahead
from moverank.rerank.runtime.thread_pool import single_threaded_blas

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_BLOCK = 128  # bags whose distances from all others are bounded by one matrix product
_PER_PAIR = 2  # pairs solved at first for each pair wanted: a small limit from the beginning

_Rows = NDArray[np.int64]
_Floats = NDArray[np.float64]


class PairsOfRow(NamedTuple):
    """The pairs of one `row` with later rows, `others` (m,), and their distances (m,); `counts` of all later rows."""

    row: int
    others: _Rows
    distances: _Floats
    counts: StageCounts


@dataclass(slots=True, eq=False)
class Limit:
    """The largest distance of a pair that is wanted: at most `value`, and with `k`, not above the k-th smallest."""

    value: float
    k: int | None = None
    best: _Floats | None = None

    def add(self, distances: _Floats) -> None:
        """Take the distances (m,) of new pairs into account."""
        if self.k is not None:
            known = distances if self.best is None else np.append(self.best, distances)
            self.best = np.sort(known)[: self.k]
            if len(self.best) == self.k:
                self.value = min(self.value, float(self.best[-1]))


class NearPairs:
    """Finds the pairs of `bags` (n) over word `vectors` (v, d) that are within a limit; threads share it.

    Words that are not `known` (v,) (None: all are known) have a vector of zeros. Each gets a vector that is orthogonal
    to all others and has the average length of the known vectors. So the ground cost stays Euclidean.
    """

    def __init__(self, bags: Bags, vectors: NDArray[np.float32], known: NDArray[np.bool_] | None = None) -> None:
        self._bags, self._vectors, self._norms = bags, vectors, vector_norms(vectors)
        self._centroids = centroids(bags, vectors)
        self._lengths = np.linalg.norm(self._centroids, axis=1)
        self._dim = self._centroids.shape[1]
        self._known, self._others = known, None if known is None else _unknown_parts(bags, known)
        if known is not None and self._others is not None:
            used = np.unique(bags.words[known[bags.words]])
            self._far = float(self._norms[used].mean()) if len(used) else 1.0
            self._others = self._others * np.float32(self._far)
            self._lengths = np.sqrt(np.square(self._lengths) + self._others.multiply(self._others).sum(axis=1))
            self._dim += int(np.diff(self._others.indptr).max(initial=0))

    def smallest_distance_of(self, k: int) -> float:
        """Return an upper bound of the k-th smallest distance of a pair, infinity if there are fewer pairs.

        It is the k-th smallest among the distances of the pairs with the smallest WCD.
        """
        count = _PER_PAIR * k
        rows, others, bounds = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        for row, lower in self._bounds(0):
            chosen = np.arange(len(lower))
            if len(bounds) == count:
                chosen = np.flatnonzero(lower < bounds.max())
            if len(chosen):
                rows, others = np.append(rows, np.full(len(chosen), row)), np.append(others, row + 1 + chosen)
                bounds = np.append(bounds, lower[chosen])
            if len(bounds) > count:
                least = np.argpartition(bounds, count - 1)[:count]
                rows, others, bounds = rows[least], others[least], bounds[least]
        if len(bounds) < k:
            return float("inf")
        order = np.argsort(rows, kind="stable")
        pairs = np.split(others[order], np.flatnonzero(np.diff(rows[order])) + 1)
        work = partial(self._distances, within=float("inf"))
        solved = map_ahead(work, zip(np.unique(rows).tolist(), pairs, strict=True))
        return float(np.sort(np.concatenate([found.distances for _, found in solved]))[k - 1])

    def run(self, first: int, limit: Limit) -> Iterator[PairsOfRow]:
        """Yield the pairs of each row from `first` on, in order, with distances not above the current limit."""

        def work(item: tuple[int, _Rows]) -> PairsOfRow:
            return self._distances(item, limit.value)

        near = ((row, row + 1 + np.flatnonzero(lower <= limit.value)) for row, lower in self._bounds(first))
        for _, found in map_ahead(work, near):
            limit.add(found.distances)
            yield found

    def _bounds(self, first: int) -> Iterator[tuple[int, _Floats]]:
        """Yield each row from `first` on, and lower bounds (m,) of its distances from all later rows."""
        for start in range(first, len(self._bags), _BLOCK):
            check_time()
            stop = min(start + _BLOCK, len(self._bags))
            products = self._centroids[start:stop] @ self._centroids[start:].T
            if self._others is not None:
                products += (self._others[start:stop] @ self._others[start:].T).toarray()
            for row in range(start, stop):
                later = slice(row + 1, None)
                lengths, own = self._lengths[later], self._lengths[row]
                squares = np.square(lengths) + np.square(own) - 2 * products[row - start, row + 1 - start :]
                yield row, wcd_from_squares(squares, lengths, own, self._dim)

    def _distances(self, item: tuple[int, _Rows], within: float) -> PairsOfRow:
        row, others = item
        if not len(others):
            return PairsOfRow(row, others, np.empty(0), StageCounts())
        bag, bags, vectors, norms = self._bags[row], self._bags.take(others), self._vectors, self._norms
        if self._known is not None:
            bag, bags, vectors = self._with_unknown(bag, bags, self._known)
            norms = vector_norms(vectors)
        query = QueryBag(bag, vectors[bag.words])
        with single_threaded_blas():
            found = nearest(query, bags, vectors, len(others), "wmd", within, norms)
        wanted = found.distances <= within
        return PairsOfRow(row, others[found.rows[wanted]], found.distances[wanted], found.counts)

    def _with_unknown(self, bag: Bag, bags: Bags, known: NDArray[np.bool_]) -> tuple[Bag, Bags, NDArray[np.float32]]:
        """Return `bag` and `bags` over the words that they have, and the vectors of these, unknown ones included.

        Only the unknown words of `bag` need a direction each: other unknown words are equally far from all words of
        `bag`, so that they share one direction.
        """
        words = np.unique(np.concatenate([bag.words, bags.words]))
        own = np.searchsorted(words, bag.words)
        unknown = own[~known[bag.words]]
        dim = self._vectors.shape[1]
        vectors = np.zeros((len(words), dim + len(unknown) + 1), np.float32)
        vectors[:, :dim] = self._vectors[words]
        vectors[~known[words], -1] = self._far
        vectors[unknown, -1] = 0
        vectors[unknown, dim + np.arange(len(unknown))] = self._far
        places = np.searchsorted(words, bags.words).astype(np.int32)
        return Bag(own.astype(np.int32), bag.weights), Bags(bags.starts, places, bags.weights), vectors


def _unknown_parts(bags: Bags, known: NDArray[np.bool_]) -> "csr_array[np.float32, tuple[int, int]]":
    """Return the weights (n, v) of the unknown words of bags."""
    from scipy.sparse import csr_array

    unknown = ~known[bags.words]
    starts = np.concatenate([[0], np.cumsum(unknown)])[bags.starts]
    weights = bags.weights[unknown].astype(np.float32)
    return csr_array((weights, bags.words[unknown], starts), shape=(len(bags), len(known)))
