"""The exact k nearest bags by a cascade of bounds, each tighter and more expensive than the one before.

1. RWMD's document side, for all documents.
2. A one-pass dual for those that remain: over quantised costs for many documents, over float32 costs for few.
3. Sinkhorn's lower and upper bounds, in the order of the lower bounds so far.
4. The exact transport problem, for the documents that no bound separates from the k nearest.

The limit is the k-th smallest upper bound or distance so far: documents with a larger lower bound are pruned.
"""

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance import bounds
from moverank.rerank.distance.best_first import Rows, best_first, never_stop
from moverank.rerank.distance.bounds import Problem
from moverank.rerank.distance.cost_cache import CostCache
from moverank.rerank.distance.quantised_cost import QuantisedCost
from moverank.rerank.distance.query_bag import QueryBag, restricted
from moverank.rerank.distance.transport import solve_bags
from moverank.rerank.distance.word_blocks import max_words, word_blocks
from moverank.rerank.ranking import Nearest, StageCounts
from moverank.rerank.runtime.threads import parallel_for, single_threaded_blas

QUANTISED_BYTES = 256 * 2**20
"""The largest size of the quantised costs of a whole vocabulary, a byte for each pair of words."""

FEW_DOCUMENTS = 1000
"""For at most this many documents, quantising the costs of their words takes longer than it saves."""

_SINKHORN_BLOCK = 32  # documents that Sinkhorn's bounds are computed for before the limit is checked again
_COST_BLOCK = 128  # documents whose costs are computed at a time
_FIRST_PORTION = 1024  # documents that the quantised dual is computed for before the limit is lowered

RWMD, DUAL, SINKHORN, SOLVED = range(4)


class Cascade:
    """One search for the `k` nearest of `bags` to `query` over `vectors` (v, d) with their `norms` (v,).

    Rows farther than `within` need not be found. `stop` is polled between blocks: once it returns True, the search ends
    as soon as it has k distances.
    """

    def __init__(
        self,
        query: QueryBag,
        bags: Bags,
        vectors: NDArray[np.float32],
        norms: NDArray[np.float32],
        k: int,
        within: float = np.inf,
        stop: Callable[[], bool] = never_stop,
    ) -> None:
        self._query, self._bags, self._vectors, self._norms = query, bags, vectors, norms
        self._k, self._limit, self._stop = k, within, stop
        self._max_words = max_words(query)
        self._costs = CostCache(query, vectors, norms, self._max_words)
        n = len(bags)
        self._lower = np.zeros(n)
        self._stage = np.full(n, RWMD, np.uint8)
        self._upper = np.empty(0)  # the k smallest upper bounds so far
        self._distances: dict[int, float] = {}

    def run(self) -> Nearest:
        """Search, and return the nearest rows."""
        rows = np.arange(len(self._bags))
        with single_threaded_blas():
            if len(rows) > self._k:
                self._prune(rows)
            return self._solve_in_order_of_bounds(rows)

    def _prune(self, rows: Rows) -> None:
        """Raise the lower bounds of rows until they exceed the limit, or no bound raises them further."""
        if len(rows) <= FEW_DOCUMENTS and len(self._vectors) <= self._max_words:
            self._bound_by_float32_costs(rows)
        else:
            self._bound_by_quantised_costs(rows)
        rows = self._remaining(rows)
        for start in range(0, len(rows), _COST_BLOCK):
            block = rows[start : start + _COST_BLOCK]
            if self._lower[block[0]] > self._limit or self._stop():
                break
            self._bound_by_sinkhorn(block)
            if not start:
                self._solve_most_promising(rows)

    def _bound_by_float32_costs(self, rows: Rows) -> None:
        """Compute RWMD's document side, then the one-pass dual of remaining rows; Sinkhorn reuses these costs."""
        problem = self._costs.problem(self._bags)
        self._lower[:] = bounds.document_side(problem.bags, bounds.nearest_costs(problem.cost))
        self._reduce_limit_by_sinkhorn(rows)
        rest = self._remaining(rows)
        rest = rest[self._stage[rest] < DUAL]
        self._raise_bounds(rest, bounds.one_pass_dual(problem, rest, self._limit), DUAL)

    def _bound_by_quantised_costs(self, rows: Rows) -> None:
        """Compute RWMD's document side, then the quantised dual of remaining rows."""
        cost = QuantisedCost.of(
            self._query, self._vectors, self._norms, QUANTISED_BYTES, self._costs.matrix_of_all_words()
        )
        self._lower[:] = bounds.document_side(self._bags, cost.nearest)
        self._reduce_limit_by_sinkhorn(rows)
        self._bound_by_quantised_dual(cost, self._remaining(rows))

    def _remaining(self, rows: Rows) -> Rows:
        """Return the rows that are not pruned, in increasing order of their lower bounds."""
        rest = rows[self._lower[rows] <= self._limit]
        return rest[np.argsort(self._lower[rest], kind="stable")]

    def _bound_by_quantised_dual(self, cost: QuantisedCost, rows: Rows) -> None:
        """Compute the quantised dual of rows in the order of their bounds, lowering the limit after each portion.

        One direction of the dual prunes almost all rows; the other is computed only for those that remain.
        """
        size, start = _FIRST_PORTION, 0
        while start < len(rows) and self._lower[rows[start]] <= self._limit and not self._stop():
            portion = rows[start : start + size]
            portion = portion[self._lower[portion] <= self._limit]
            self._raise_by_quantised_dual(cost, portion, -np.inf)
            self._reduce_limit_by_sinkhorn(portion)
            start, size = start + size, 4 * size
        rest = rows[(self._stage[rows] == DUAL) & (self._lower[rows] <= self._limit)]
        self._raise_by_quantised_dual(cost, rest, np.inf)

    def _raise_by_quantised_dual(self, cost: QuantisedCost, rows: Rows, threshold: float) -> None:
        """Raise bounds to the quantised dual; if the costs of all words were too large, block by block of rows."""
        rows = np.sort(rows)  # in memory order
        if len(cost.above):
            self._raise_bounds(rows, bounds.quantised_dual(cost, self._query.bag, self._bags, rows, threshold), DUAL)
            return
        for block in word_blocks(self._bags, rows, self._max_words):
            query, bags, vectors, norms = restricted(self._query, self._bags.take(block), self._vectors, self._norms)
            own = QuantisedCost.of(query, vectors, norms, sys.maxsize)
            lower = bounds.quantised_dual(own, query.bag, bags, np.arange(len(block)), threshold)
            self._raise_bounds(block, lower, DUAL)

    def _reduce_limit_by_sinkhorn(self, rows: Rows) -> None:
        """Compute Sinkhorn's bounds of the most promising rows that lack them: their upper bounds lower the limit."""
        new = rows[(self._stage[rows] < SINKHORN) & (self._lower[rows] <= self._limit)]
        count = min(len(new), self._k + _SINKHORN_BLOCK // 2)
        if count:
            self._bound_by_sinkhorn(new[np.argpartition(self._lower[new], count - 1)[:count]])

    def _bound_by_sinkhorn(self, rows: Rows) -> None:
        """Compute Sinkhorn's bounds of the rows that lack them, while their lower bounds do not exceed the limit."""
        rows = rows[(self._stage[rows] < SINKHORN) & (self._lower[rows] <= self._limit)]
        for block in word_blocks(self._bags, rows, self._max_words):
            problem = self._costs.problem(self._bags.take(block))
            order = np.argsort(self._lower[block], kind="stable")
            for start in range(0, len(order), _SINKHORN_BLOCK):
                promising = order[start : start + _SINKHORN_BLOCK]
                promising = promising[self._lower[block[promising]] <= self._limit]
                if len(promising):
                    self._bound_problem_by_sinkhorn(problem, promising, block[promising])

    def _bound_problem_by_sinkhorn(self, problem: Problem, problem_rows: Rows, rows: Rows) -> None:
        """Bound `rows`, which are `problem_rows` of `problem`, from both sides, and lower the limit."""
        lower, upper = bounds.sinkhorn(problem, problem_rows, self._limit)
        self._raise_bounds(rows, lower, SINKHORN)
        self._upper = np.sort(np.append(self._upper, upper[np.isfinite(upper)]))[: self._k]
        if len(self._upper) == self._k:
            self._limit = min(self._limit, float(self._upper[-1]))

    def _solve_most_promising(self, rows: Rows) -> None:
        """Solve the k rows of least bound: their distances lower the limit further, and most are needed anyway."""
        bounded = rows[self._stage[rows] == SINKHORN]
        best = bounded[np.argsort(self._lower[bounded], kind="stable")[: self._k]]
        if len(best) == self._k:
            parallel_for(lambda first, last: self._solve(best[first:last]), len(best), small=2)
            self._limit = min(self._limit, max(self._distance(row) for row in best.tolist()))

    def _raise_bounds(self, rows: Rows, lower: NDArray[np.float64], stage: int) -> None:
        """Keep the larger of the old and the new lower bound."""
        self._lower[rows] = np.maximum(self._lower[rows], lower)
        self._stage[rows] = np.maximum(self._stage[rows], stage)

    def _solve(self, rows: Rows) -> None:
        for row in rows.tolist():
            self._distance(row)

    def _distance(self, row: int) -> float:
        """Return the exact distance of a row, solved once."""
        if row not in self._distances:
            bag = self._bags[row]
            vectors = self._vectors[bag.words]
            self._distances[row] = solve_bags(self._query.bag, bag, self._query.vectors, vectors)[0].distance
            # Rounding of the masses can put the bound above the distance: the row would be pruned by its own distance.
            self._lower[row], self._stage[row] = min(self._lower[row], self._distances[row]), SOLVED
        return self._distances[row]

    def _solve_in_order_of_bounds(self, rows: Rows) -> Nearest:
        """Solve rows in the order of their lower bounds until the next one cannot be among the nearest."""
        rows = self._remaining(rows)
        best, _ = best_first(rows, self._lower[rows], self._distance, self._k, self._limit, self._stop)
        counts = StageCounts(len(self._lower), *np.bincount(self._stage, minlength=4).tolist())
        return Nearest(*best, counts, self._unsolved_bounds(best[1]))

    def _unsolved_bounds(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the smallest lower bounds, at most k, of unsolved rows below the last distance: none if proven."""
        last = distances[-1] if len(distances) == self._k else self._limit
        below = np.sort(self._lower[(self._stage != SOLVED) & (self._lower < last)])
        return below[: self._k]
