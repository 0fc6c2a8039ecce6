"""The k nearest bags by one of the relaxed distances: RWMD, or WCD."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance import bounds
from moverank.rerank.distance.cascade import best_first, fitting, most_words
from moverank.rerank.distance.cost_cache import CostCache
from moverank.rerank.distance.ground_cost import exact_minima
from moverank.rerank.distance.quantised_cost import QuantisedCost
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.encoders.centroid import centroids
from moverank.rerank.ranking import Nearest, StageCounts
from moverank.rerank.runtime.threads import single_threaded_blas

_FIRST = 128  # documents whose other side is looked at before the limit is set

Rows = NDArray[np.int64]


def nearest_by_rwmd(
    query: QueryBag, bags: Bags, vectors: NDArray[np.float32], norms: NDArray[np.float32], k: int, within: float
) -> Nearest:
    """Find the nearest by RWMD: see `rerank.reranker.nearest`."""
    with single_threaded_blas():
        return _Rwmd(query, bags, vectors, norms, k).run(within)


class _Rwmd:
    """One search by RWMD, which is at least its document side: the other is for whom that leaves."""

    def __init__(
        self, query: QueryBag, bags: Bags, vectors: NDArray[np.float32], norms: NDArray[np.float32], k: int
    ) -> None:
        self._query, self._bags, self._vectors, self._k = query, bags, vectors, k
        self._most = most_words(query)
        self._fine = CostCache(query, vectors, norms, self._most)
        coarse = QuantisedCost.of(query, vectors, norms, 0, self._fine.room())
        self._floor = bounds.document_side(bags, coarse.nearest)
        self._exact: dict[int, float] = {}

    def run(self, within: float) -> Nearest:
        """Find them."""
        order, start, size, limit = np.argsort(self._floor, kind="stable"), 0, max(_FIRST, 2 * self._k), within
        while start < len(order) and self._floor[order[start]] <= limit:
            rows = order[start : start + size]
            self._look_at_query_side(rows[self._floor[rows] <= limit])
            if not start and len(rows) >= self._k:
                best = rows[np.argsort(self._floor[rows], kind="stable")[: self._k]]
                limit = min(limit, max(self._distance(row) for row in best.tolist()))
            start, size = start + size, 4 * size
        looked = np.sort(order[:start])
        (found, distances), settled = best_first(looked, self._floor[looked], self._distance, self._k, within)
        n = len(self._bags)
        return Nearest(found, distances, StageCounts(candidates=n, rwmd=n - settled))

    def _look_at_query_side(self, rows: Rows) -> None:
        """Raise the floors of rows to RWMD's but for rounding."""
        for block in fitting(self._bags, np.sort(rows), self._most):
            problem = self._fine.problem(self._bags.take(block))
            other = bounds.query_side(problem.bags, problem.cost, problem.query, np.arange(len(block)))
            self._floor[block] = np.maximum(self._floor[block], other)

    def _distance(self, row: int) -> float:
        """Return the RWMD of a row, computed once."""
        if row not in self._exact:
            query, bag = self._query, self._bags[row]
            ours, theirs = exact_minima(query.vectors, self._vectors[bag.words])
            self._exact[row] = float(max(query.bag.weights @ ours, bag.weights @ theirs))
        return self._exact[row]


def nearest_by_wcd(query: QueryBag, bags: Bags, vectors: NDArray[np.float32], k: int, within: float) -> Nearest:
    """Find the nearest by WCD: its float32 value is the bound of its float64 value."""
    own = Bags.of([Bag(np.arange(len(query.bag), dtype=np.int32), query.bag.weights)])
    floor = bounds.wcd(centroids(bags, vectors), centroids(own, query.vectors)[0])
    centre = query.bag.weights @ query.vectors.astype(np.float64)

    def distance(row: int) -> float:
        bag = bags[row]
        return float(np.linalg.norm(centre - bag.weights @ vectors[bag.words].astype(np.float64)))

    n = len(bags)
    best, settled = best_first(np.arange(n), floor, distance, k, within)
    return Nearest(*best, StageCounts(candidates=n, rwmd=n - settled))
