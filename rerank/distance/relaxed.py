"""The k nearest bags by a sum of relaxed distances, such as RWMD, or by WCD."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance import bounds
from moverank.rerank.distance.best_first import LateProblems, RowIndices, Wanted, best_first, unsolved_bounds
from moverank.rerank.distance.cost_cache import CostCache
from moverank.rerank.distance.quantised_cost import QuantisedCost
from moverank.rerank.distance.query_bag import Comparison, QueryBag
from moverank.rerank.distance.weighted_sum import Sides, WeightedSum
from moverank.rerank.distance.word_blocks import max_words
from moverank.rerank.encoders.centroid import centroids
from moverank.rerank.errors import OutOfTime
from moverank.rerank.ranking import Nearest, StageCounts
from moverank.rerank.runtime.thread_pool import single_threaded_blas

_FIRST_PORTION = 128  # documents whose query side is computed before the limit is set


def nearest_by_sides(compared: Comparison, wanted: Wanted, total: WeightedSum) -> Nearest:
    """Find the nearest by a sum without WMD, such as RWMD, whose weights are `total`."""
    with single_threaded_blas():
        return _BySides(compared, wanted, total).run()


class _BySides:
    """One search: the document side is computed for all rows, the query side for rows where it may matter."""

    def __init__(self, compared: Comparison, wanted: Wanted, total: WeightedSum) -> None:
        self._query, self._bags, self._vectors = compared.query, compared.bags, compared.vectors
        self._wanted, self._sum, n = wanted, total, len(compared.bags)
        nearest, self._costs = _nearest_costs(compared)
        self._sides = Sides(bounds.document_side(self._bags, nearest), np.zeros(n))
        self._lower = total.total(np.arange(n), self._sides.query, self._sides)
        self._exact: dict[int, tuple[float, float, float]] = {}  # total, document side, query side
        self._late = LateProblems(partial=wanted.partial)

    def run(self) -> Nearest:
        """Return the nearest rows."""
        order, k = np.argsort(self._lower, kind="stable"), self._wanted.k
        start, size, limit = 0, max(_FIRST_PORTION, 2 * k), self._wanted.within
        try:
            while start < len(order) and self._lower[order[start]] <= limit:
                rows = order[start : start + size]
                self._raise_to_query_side(rows[self._lower[rows] <= limit])
                if not start and len(rows) >= k:
                    best = rows[np.argsort(self._lower[rows], kind="stable")[:k]]
                    limit = min(limit, max(self._total(row) for row in best.tolist()))
                start, size = start + size, 4 * size
        except OutOfTime:
            if not self._wanted.partial:
                raise
            start = len(order)  # those without a query side have a bound, too
        bounded = np.sort(order[:start])
        (rows, totals), computed = best_first(bounded, self._lower[bounded], self._total, self._wanted, self._exact)
        n = len(self._bags)
        components = np.array([(np.nan, *self._exact[row][1:]) for row in rows.tolist()]).reshape(-1, 3)
        known = np.zeros(n, bool)
        for row, (total, *_) in self._exact.items():
            self._lower[row], known[row] = total, True
        counts = StageCounts(candidates=n, rwmd=n - computed)
        below = unsolved_bounds(self._lower, known, totals, self._wanted)
        return Nearest(rows, totals, counts, below, components, self._lower, known)

    def _raise_to_query_side(self, rows: RowIndices) -> None:
        """Raise the bounds of rows to their totals minus the margins of both sides."""
        if not self._sum.has_query_side:
            return
        rows = np.sort(rows)
        self._sides.query[rows] = self._costs.query_side(self._bags, rows)
        self._lower[rows] = self._sum.total(rows, np.zeros(len(rows)), Sides(*(side[rows] for side in self._sides)))

    def _total(self, row: int) -> float:
        """Return the total of a row, computed once."""
        if row not in self._exact:
            bag = self._bags[row]
            self._late.check(len(bag) * len(self._query.bag))
            self._exact[row] = self._sum.exact(row, 0.0, self._query, self._vectors[bag.words], bag.weights)
        return self._exact[row][0]


def sides_floor(query: QueryBag, bags: Bags, vectors: NDArray[np.float32]) -> Sides:
    """Return lower bounds of both sides of RWMD of `query` and `bags` (n,) over word vectors (v, d), in float32."""
    return _sides_floor(Comparison(query, bags, vectors).restricted())


def rwmd_floor(
    query: QueryBag, bags: Bags, vectors: NDArray[np.float32], norms: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return lower bounds (n,) of RWMD of `query` and `bags` (n,) over word vectors (v, d) with `norms` (v,)."""
    return np.maximum(*_sides_floor(Comparison(query, bags, vectors, norms)))


def _sides_floor(compared: Comparison) -> Sides:
    bags = compared.bags
    with single_threaded_blas():
        nearest, costs = _nearest_costs(compared)
        return Sides(bounds.document_side(bags, nearest), costs.query_side(bags, np.arange(len(bags))))


def _nearest_costs(compared: Comparison) -> tuple[NDArray[np.float32], CostCache]:
    """Return the cost of each word (v,) to the nearest query word, and a cache of all costs, filled if it can be."""
    query, vectors, norms = compared.query, compared.vectors, compared.norms
    costs = CostCache(query, vectors, norms, max_words(query))
    return QuantisedCost.of(query, vectors, norms, 0, costs.matrix_of_all_words()).nearest, costs


def exact_wcd(query: QueryBag, bags: Bags, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the WCD (n,) of `query` and `bags` (n,) over word vectors (v, d), in float64."""
    from scipy.sparse import csr_array

    weights = csr_array((bags.weights, bags.words, bags.starts), shape=(len(bags), len(vectors)))
    centre = query.bag.weights @ query.vectors.astype(np.float64)
    distances: NDArray[np.float64] = np.linalg.norm(weights @ vectors.astype(np.float64) - centre, axis=1)
    return distances


def nearest_by_wcd(compared: Comparison, wanted: Wanted) -> Nearest:
    """Find the nearest by WCD: float32 values minus their margin bound the float64 ones."""
    query, bags, vectors, centres = compared.query, compared.bags.weighted(), compared.vectors, compared.centres
    lower = bounds.wcd(centroids(bags, vectors) if centres is None else centres, query.centroid())
    centre = query.bag.weights @ query.vectors.astype(np.float64)

    n = len(bags)
    exact, known = lower.astype(np.float64), np.zeros(n, bool)

    def distance(row: int) -> float:
        bag = bags[row]
        exact[row] = np.linalg.norm(centre - bag.weights @ vectors[bag.words].astype(np.float64))
        known[row] = True
        return float(exact[row])

    best, computed = best_first(np.arange(n), lower, distance, wanted)
    below = unsolved_bounds(exact, known, best[1], wanted)
    return Nearest(*best, StageCounts(candidates=n, rwmd=n - computed), below, lower=exact, known=known)
