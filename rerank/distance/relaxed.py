"""The k nearest bags by a sum of relaxed distances, such as RWMD, or by WCD."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.idf_bags import IdfBags
from moverank.rerank.distance import bounds
from moverank.rerank.distance.best_first import Rows, best_first
from moverank.rerank.distance.cost_cache import CostCache
from moverank.rerank.distance.quantised_cost import QuantisedCost
from moverank.rerank.distance.query_bag import QueryBag, restricted
from moverank.rerank.distance.weighted_sum import Sides, WeightedSum
from moverank.rerank.distance.word_blocks import max_words, word_blocks
from moverank.rerank.encoders.centroid import centroids
from moverank.rerank.ranking import Nearest, StageCounts
from moverank.rerank.runtime.threads import single_threaded_blas

_FIRST_PORTION = 128  # documents whose query side is computed before the limit is set


def nearest_by_sides(
    query: QueryBag,
    bags: Bags | IdfBags,
    vectors: NDArray[np.float32],
    norms: NDArray[np.float32],
    k: int,
    total: WeightedSum,
    within: float,
) -> Nearest:
    """Find the nearest by a sum without WMD, such as RWMD; for parameters see `rerank.distance.nearest.nearest`."""
    with single_threaded_blas():
        return _BySides(query, bags, vectors, norms, k, total).run(within)


class _BySides:
    """One search: the document side is computed for all rows, the query side for rows where it may matter."""

    def __init__(
        self,
        query: QueryBag,
        bags: Bags | IdfBags,
        vectors: NDArray[np.float32],
        norms: NDArray[np.float32],
        k: int,
        total: WeightedSum,
    ) -> None:
        self._query, self._bags, self._vectors, self._k, self._sum = query, bags, vectors, k, total
        self._max_words = max_words(query)
        self._costs = CostCache(query, vectors, norms, self._max_words)
        cost = QuantisedCost.of(query, vectors, norms, 0, self._costs.matrix_of_all_words())
        rows = np.arange(len(bags))
        self._sides = Sides(bounds.document_side(bags, cost.nearest), np.zeros(len(bags)))
        self._lower = total.total(rows, self._sides.query, self._sides)
        self._exact: dict[int, tuple[float, float, float]] = {}  # total, document side, query side

    def run(self, within: float) -> Nearest:
        """Return the nearest rows that are not farther than `within`."""
        order = np.argsort(self._lower, kind="stable")
        start, size, limit = 0, max(_FIRST_PORTION, 2 * self._k), within
        while start < len(order) and self._lower[order[start]] <= limit:
            rows = order[start : start + size]
            self._raise_to_query_side(rows[self._lower[rows] <= limit])
            if not start and len(rows) >= self._k:
                best = rows[np.argsort(self._lower[rows], kind="stable")[: self._k]]
                limit = min(limit, max(self._total(row) for row in best.tolist()))
            start, size = start + size, 4 * size
        bounded = np.sort(order[:start])
        (rows, totals), computed = best_first(bounded, self._lower[bounded], self._total, self._k, within)
        n = len(self._bags)
        components = np.array([(np.nan, *self._exact[row][1:]) for row in rows.tolist()]).reshape(-1, 3)
        known = np.zeros(n, bool)
        for row, (total, *_) in self._exact.items():
            self._lower[row], known[row] = total, True
        counts = StageCounts(candidates=n, rwmd=n - computed)
        return Nearest(rows, totals, counts, components=components, lower=self._lower, known=known)

    def _raise_to_query_side(self, rows: Rows) -> None:
        """Raise the bounds of rows to their totals minus the margins of both sides."""
        if not self._sum.has_query_side:
            return
        for block in word_blocks(self._bags, np.sort(rows), self._max_words):
            problem = self._costs.problem(self._bags.take(block))
            self._sides.query[block] = bounds.query_side(
                problem.bags, problem.cost, problem.query, np.arange(len(block))
            )
            sides = Sides(*(side[block] for side in self._sides))
            self._lower[block] = self._sum.total(block, np.zeros(len(block)), sides)

    def _total(self, row: int) -> float:
        """Return the total of a row, computed once."""
        if row not in self._exact:
            bag = self._bags[row]
            self._exact[row] = self._sum.exact(row, 0.0, self._query, self._vectors[bag.words], bag.weights)
        return self._exact[row][0]


def sides_floor(query: QueryBag, bags: Bags, vectors: NDArray[np.float32]) -> Sides:
    """Return lower bounds of both sides of RWMD of `query` and `bags` (n,) over word vectors (v, d), in float32."""
    return _sides_floor(*restricted(query, bags, vectors))


def rwmd_floor(
    query: QueryBag, bags: Bags, vectors: NDArray[np.float32], norms: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return lower bounds (n,) of RWMD of `query` and `bags` (n,) over word vectors (v, d) with `norms` (v,)."""
    return np.maximum(*_sides_floor(query, bags, vectors, norms))


def _sides_floor(query: QueryBag, bags: Bags, vectors: NDArray[np.float32], norms: NDArray[np.float32]) -> Sides:
    with single_threaded_blas():
        problem = bounds.Problem.of(query, bags, vectors, norms)
    document_side = bounds.document_side(bags, bounds.nearest_costs(problem.cost))
    return Sides(document_side, bounds.query_side(bags, problem.cost, problem.query, np.arange(len(bags))))


def exact_wcd(query: QueryBag, bags: Bags, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the WCD (n,) of `query` and `bags` (n,) over word vectors (v, d), in float64."""
    from scipy.sparse import csr_array

    weights = csr_array((bags.weights, bags.words, bags.starts), shape=(len(bags), len(vectors)))
    centre = query.bag.weights @ query.vectors.astype(np.float64)
    distances: NDArray[np.float64] = np.linalg.norm(weights @ vectors.astype(np.float64) - centre, axis=1)
    return distances


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
    known = np.zeros(n, bool)
    lower, known[best[0]] = lower.astype(np.float64), True
    lower[best[0]] = best[1]
    return Nearest(*best, StageCounts(candidates=n, rwmd=n - computed), lower=lower, known=known)
