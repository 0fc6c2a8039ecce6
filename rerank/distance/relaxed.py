"""The k nearest bags by one of the relaxed distances: RWMD, or WCD."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance import bounds
from moverank.rerank.distance.best_first import Rows, best_first
from moverank.rerank.distance.cost_cache import CostCache
from moverank.rerank.distance.ground_cost import exact_minima
from moverank.rerank.distance.quantised_cost import QuantisedCost
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.distance.word_blocks import max_words, word_blocks
from moverank.rerank.encoders.centroid import centroids
from moverank.rerank.ranking import Nearest, StageCounts
from moverank.rerank.runtime.threads import single_threaded_blas

_FIRST_PORTION = 128  # documents whose query side is computed before the limit is set


def nearest_by_rwmd(
    query: QueryBag, bags: Bags, vectors: NDArray[np.float32], norms: NDArray[np.float32], k: int, within: float
) -> Nearest:
    """Find the nearest by RWMD; for the parameters see `rerank.distance.nearest.nearest`."""
    with single_threaded_blas():
        return _Rwmd(query, bags, vectors, norms, k).run(within)


class _Rwmd:
    """One search by RWMD: the document side is computed for all rows, the query side for rows where it may matter."""

    def __init__(
        self, query: QueryBag, bags: Bags, vectors: NDArray[np.float32], norms: NDArray[np.float32], k: int
    ) -> None:
        self._query, self._bags, self._vectors, self._k = query, bags, vectors, k
        self._max_words = max_words(query)
        self._costs = CostCache(query, vectors, norms, self._max_words)
        cost = QuantisedCost.of(query, vectors, norms, 0, self._costs.matrix_of_all_words())
        self._lower = bounds.document_side(bags, cost.nearest)
        self._distances: dict[int, float] = {}

    def run(self, within: float) -> Nearest:
        """Return the nearest rows that are not farther than `within`."""
        order = np.argsort(self._lower, kind="stable")
        start, size, limit = 0, max(_FIRST_PORTION, 2 * self._k), within
        while start < len(order) and self._lower[order[start]] <= limit:
            rows = order[start : start + size]
            self._raise_to_query_side(rows[self._lower[rows] <= limit])
            if not start and len(rows) >= self._k:
                best = rows[np.argsort(self._lower[rows], kind="stable")[: self._k]]
                limit = min(limit, max(self._distance(row) for row in best.tolist()))
            start, size = start + size, 4 * size
        bounded = np.sort(order[:start])
        (rows, distances), computed = best_first(bounded, self._lower[bounded], self._distance, self._k, within)
        n = len(self._bags)
        return Nearest(rows, distances, StageCounts(candidates=n, rwmd=n - computed))

    def _raise_to_query_side(self, rows: Rows) -> None:
        """Raise the bounds of rows to RWMD minus its margin."""
        for block in word_blocks(self._bags, np.sort(rows), self._max_words):
            problem = self._costs.problem(self._bags.take(block))
            query_side = bounds.query_side(problem.bags, problem.cost, problem.query, np.arange(len(block)))
            self._lower[block] = np.maximum(self._lower[block], query_side)

    def _distance(self, row: int) -> float:
        """Return the RWMD of a row, computed once."""
        if row not in self._distances:
            query, bag = self._query, self._bags[row]
            by_query_word, by_document_word = exact_minima(query.vectors, self._vectors[bag.words])
            sides = query.bag.weights @ by_query_word, bag.weights @ by_document_word
            self._distances[row] = float(max(sides))
        return self._distances[row]


def nearest_by_wcd(query: QueryBag, bags: Bags, vectors: NDArray[np.float32], k: int, within: float) -> Nearest:
    """Find the nearest by WCD: float32 values minus their margin bound the float64 ones.

    For the parameters see `rerank.distance.nearest.nearest`.
    """
    lower = bounds.wcd(centroids(bags, vectors), query.centroid())
    centre = query.bag.weights @ query.vectors.astype(np.float64)

    def distance(row: int) -> float:
        bag = bags[row]
        return float(np.linalg.norm(centre - bag.weights @ vectors[bag.words].astype(np.float64)))

    n = len(bags)
    best, computed = best_first(np.arange(n), lower, distance, k, within)
    return Nearest(*best, StageCounts(candidates=n, rwmd=n - computed))
