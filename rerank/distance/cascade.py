"""The exact k nearest bags by a cascade of bounds, each tighter and more expensive than the one before.

1. RWMD's document side, for all documents.
2. A one-pass dual for the remaining documents: over quantised costs for many, over float32 costs for few.
3. Sinkhorn's lower and upper bounds, in the order of the lower bounds so far; finer ones for a few documents that these
   bounds leave undecided.
4. The exact transport problem, for the documents that no bound separates from the k nearest.

The limit is the k-th smallest upper bound or distance so far: documents with a larger lower bound are pruned. If a
weighted sum ranks, the limit is one of totals, and a bound of the distance bounds the total; see `weighted_sum`.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import ResidualMass
from moverank.rerank.distance import bounds
from moverank.rerank.distance.best_first import LateProblems, RowIndices, Wanted, best_first, unsolved_bounds
from moverank.rerank.distance.bounds import Problem
from moverank.rerank.distance.cell_limit import check_cells, most_cells
from moverank.rerank.distance.cost_cache import CostCache
from moverank.rerank.distance.quantised_cost import QuantisedCost
from moverank.rerank.distance.query_bag import Comparison
from moverank.rerank.distance.transport import solve_bags, work_of
from moverank.rerank.distance.weighted_sum import Sides
from moverank.rerank.distance.word_blocks import max_words, word_blocks
from moverank.rerank.errors import OutOfTime
from moverank.rerank.ranking import Nearest, StageCounts
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.runtime.thread_pool import parallel_for, single_threaded_blas

QUANTISED_BYTES = 256 * 2**20
"""The largest size of the quantised costs of a whole vocabulary, a byte for each pair of words."""

FEW_DOCUMENTS = 1000
"""For at most this many documents, quantising the costs of their words takes longer than it saves."""

_SINKHORN_BLOCK = 32  # documents that Sinkhorn's bounds are computed for before the limit is checked again
_COST_BLOCK = 128  # documents whose costs are computed at a time
_FIRST_PORTION = 1024  # documents that the quantised dual is computed for before the limit is lowered

RWMD, DUAL, SINKHORN, SOLVED = range(4)


class Cascade:
    """One search for the `wanted` ones of the `compared` bags.

    If results may be partial, the search ends with the rows so far when the time is used up, if the bounds of all are
    known by then; else it raises OutOfTime. `answer` returns the nearest rows; `upper_bounds` may be called before, so
    that searches among other bags can share one limit with it.
    """

    def __init__(self, compared: Comparison, wanted: Wanted) -> None:
        self._wanted, self._has_bounds, self._late = wanted, False, LateProblems(partial=wanted.partial)
        self._query, self._bags, self._vectors = compared.query, compared.bags, compared.vectors
        self._norms, self._k, self._limit = compared.norms, wanted.k, wanted.within
        self._max_words = max_words(self._query)
        self._costs = CostCache(self._query, self._vectors, self._norms, self._max_words)
        n, total = len(self._bags), wanted.total
        self._sum = total
        self._distance_bound = np.zeros(n)
        self._sides = Sides(np.zeros(n), np.zeros(n)) if total else None
        self._lower = self._distance_bound  # lower bounds of the total of a sum, or else of the distance
        if total and self._sides:
            self._lower = total.lower(np.arange(n), self._distance_bound, self._sides)
        self._stage = np.full(n, RWMD, np.uint8)
        self._remaining_rows = np.empty(0, np.int64)  # that their first bounds do not exclude, in the order of these
        self._high = np.full(n, np.inf)  # upper bounds
        self._exact: dict[int, tuple[float, float, float, float]] = {}  # total, distance, sides of RWMD

    def upper_bounds(self, *, close: bool = False) -> NDArray[np.float64]:
        """Return the least upper bounds of rows, increasing, at most `k`; none if all rows are among the nearest.

        `close`: by finer bounds of the k most promising rows, which take as long as some problems do.
        """
        if self._may_prune():
            with single_threaded_blas():
                self._bound_all()
                if close:
                    best = np.argsort(self._high, kind="stable")[: self._k]
                    with self._partly():
                        self._bound_finely(np.sort(best[np.isfinite(self._high[best])]))
        return np.sort(self._high[np.isfinite(self._high)])[: self._k]

    def answer(self, limit: float = np.inf) -> Nearest:
        """Return the nearest rows, none of them above a `limit`.

        Raises TooLarge for a row that is needed, but beyond `limit_cells`.
        """
        self._limit = min(self._limit, limit)
        rows = np.arange(len(self._bags))
        with single_threaded_blas():
            if self._may_prune():
                self._prune()
            else:
                self._check_sizes(rows)
            return self._solve_in_order_of_bounds(rows)

    def _may_prune(self) -> bool:
        return len(self._bags) > self._k or bool(np.isfinite(self._limit))

    def _check_sizes(self, rows: RowIndices) -> None:
        """Raise TooLarge, before any of `rows` is solved, if one of them is too large."""
        for row in rows[self._lengths(rows) > most_cells() // len(self._query.bag)].tolist():
            residual = ResidualMass.of(self._query.bag, self._bags[row])
            check_cells(len(residual.sources), len(residual.targets))

    def _prune(self) -> None:
        """Raise the lower bounds of rows until they exceed the limit, or no bound raises them further."""
        self._bound_all()
        rows = self._remaining_rows
        with self._partly():
            self._solve_most_promising(rows)
            for start in range(_COST_BLOCK, len(rows), _COST_BLOCK):
                block = rows[start : start + _COST_BLOCK]
                if self._lower[block[0]] > self._limit:
                    break
                check_time()
                self._bound_by_sinkhorn(block)

    def _bound_all(self) -> None:
        """Bound all rows once, the most promising ones by Sinkhorn, and keep the remaining rows in order."""
        if self._has_bounds:
            return
        rows = np.arange(len(self._bags))
        with self._partly():
            if len(rows) <= FEW_DOCUMENTS and len(self._vectors) <= self._max_words:
                self._bound_by_float32_costs(rows)
            else:
                self._bound_by_quantised_costs(rows)
            self._remaining_rows = self._remaining(rows)
            check_time()
            self._bound_by_sinkhorn(self._remaining_rows[:_COST_BLOCK])
            self._bound_contested(self._remaining_rows)

    @contextmanager
    def _partly(self) -> Iterator[None]:
        """End the work of the block when the time is used up; OutOfTime without bounds, or if all rows are needed."""
        try:
            yield
        except OutOfTime:
            if not (self._wanted.partial and self._has_bounds):
                raise

    def _bound_by_float32_costs(self, rows: RowIndices) -> None:
        """Compute RWMD's document side, then the one-pass dual of remaining rows; Sinkhorn reuses these costs."""
        problem = self._costs.problem(self._bags.weighted())
        self._set_document_side(bounds.document_side(problem.bags, bounds.nearest_costs(problem.cost)))
        self._reduce_limit_by_sinkhorn(rows)
        rest = self._remaining_after_query_side(rows)
        rest = rest[self._stage[rest] < DUAL]
        self._raise_bounds(rest, bounds.one_pass_dual(problem, rest, self._thresholds(rest)), DUAL)

    def _bound_by_quantised_costs(self, rows: RowIndices) -> None:
        """Compute RWMD's document side, then the quantised dual of remaining rows."""
        cost = QuantisedCost.of(
            self._query, self._vectors, self._norms, QUANTISED_BYTES, self._costs.matrix_of_all_words()
        )
        self._set_document_side(bounds.document_side(self._bags, cost.nearest))
        self._reduce_limit_by_sinkhorn(rows)
        self._bound_by_quantised_dual(cost, self._remaining_after_query_side(rows))

    def _set_document_side(self, side: NDArray[np.float64]) -> None:
        """Raise all bounds by RWMD's document side (n,)."""
        self._distance_bound[:], self._has_bounds = side, True
        if self._sum and self._sides:
            self._sides.document[:] = side
            self._lower[:] = self._sum.lower(np.arange(len(side)), self._distance_bound, self._sides)

    def _remaining_after_query_side(self, rows: RowIndices) -> RowIndices:
        """Return the rows that are not pruned, as `_remaining`, after RWMD's query side if the ranking has it."""
        if not (self._sum and self._sum.has_query_side):
            return self._remaining(rows)
        rest = self._remaining(rows)
        rest = np.sort(rest[self._stage[rest] < SINKHORN])
        if self._sides:
            self._sides.query[rest] = side = self._costs.query_side(self._bags, rest)
            self._raise_bounds(rest, side, RWMD)
        return self._remaining(rows)

    def _set_query_side(self, problem: Problem, problem_rows: RowIndices, rows: RowIndices) -> None:
        """Raise the bounds of `rows`, which are `problem_rows` of `problem`, by RWMD's query side."""
        if self._sides:
            side = bounds.query_side(problem.bags, problem.cost, problem.query, problem_rows)
            self._sides.query[rows] = side
            self._raise_bounds(rows, side, RWMD)

    def _remaining(self, rows: RowIndices) -> RowIndices:
        """Return the rows that are not pruned, in increasing order of their lower bounds."""
        rest = rows[self._lower[rows] <= self._limit]
        return rest[np.argsort(self._lower[rest], kind="stable")]

    def _bound_by_quantised_dual(self, cost: QuantisedCost, rows: RowIndices) -> None:
        """Compute the quantised dual of rows in the order of their bounds, lowering the limit after each portion.

        One direction of the dual prunes almost all rows; the other is computed only for the remaining rows.
        """
        size, start = _FIRST_PORTION, 0
        while start < len(rows) and self._lower[rows[start]] <= self._limit:
            check_time()
            portion = rows[start : start + size]
            portion = portion[self._lower[portion] <= self._limit]
            self._raise_by_quantised_dual(cost, portion, -np.inf)
            self._reduce_limit_by_sinkhorn(portion)
            start, size = start + size, 4 * size
        rest = rows[(self._stage[rows] == DUAL) & (self._lower[rows] <= self._limit)]
        self._raise_by_quantised_dual(cost, rest, np.inf)

    def _raise_by_quantised_dual(self, cost: QuantisedCost, rows: RowIndices, threshold: float) -> None:
        """Raise bounds to the quantised dual; if the costs of all words were too large, block by block of rows."""
        rows = np.sort(rows)  # in memory order
        if len(cost.above):
            lower = bounds.quantised_dual(cost, self._query.bag, self._bags, rows, threshold)
            self._raise_bounds(rows, lower, DUAL)
            return
        small = self._lengths(rows) <= most_cells() // len(self._query.bag)  # longer rows have no exact distance
        for block in word_blocks(self._bags, rows[small], self._max_words):
            some = Comparison(self._query, self._bags.take(block), self._vectors, self._norms).restricted()
            own = QuantisedCost.of(some.query, some.vectors, some.norms, sys.maxsize)
            lower = bounds.quantised_dual(own, some.query.bag, some.bags, np.arange(len(block)), threshold)
            self._raise_bounds(block, lower, DUAL)

    def _reduce_limit_by_sinkhorn(self, rows: RowIndices) -> None:
        """Compute Sinkhorn's bounds of the most promising rows that lack them: their upper bounds lower the limit."""
        if self._k >= len(self._lower):  # only the given limit applies
            return
        new = self._without_sinkhorn(rows)
        count = min(len(new), self._k + _SINKHORN_BLOCK // 2)
        if count:
            self._bound_by_sinkhorn(new[np.argpartition(self._lower[new], count - 1)[:count]])

    def _bound_by_sinkhorn(self, rows: RowIndices) -> None:
        """Compute Sinkhorn's bounds of the rows that lack them, while their lower bounds do not exceed the limit."""
        for block in word_blocks(self._bags, self._without_sinkhorn(rows), self._max_words):
            problem = self._costs.problem(self._bags.take(block))
            order = np.argsort(self._lower[block], kind="stable")
            for start in range(0, len(order), _SINKHORN_BLOCK):
                promising = order[start : start + _SINKHORN_BLOCK]
                promising = promising[self._lower[block[promising]] <= self._limit]
                if len(promising):
                    check_time()
                    self._bound_problem_by_sinkhorn(problem, promising, block[promising])

    def _without_sinkhorn(self, rows: RowIndices) -> RowIndices:
        """Return the rows that lack Sinkhorn's bounds, are not pruned, and are not too long for them.

        For a long row, Sinkhorn's bounds take as much memory and time as the exact distance.
        """
        lack = (self._stage[rows] < SINKHORN) & (self._lengths(rows) <= self._max_words)
        return rows[lack & (self._lower[rows] <= self._limit)]

    def _lengths(self, rows: RowIndices) -> NDArray[np.int64]:
        """Return how many words each of `rows` has (m,)."""
        return self._bags.starts[rows + 1] - self._bags.starts[rows]

    def _bound_problem_by_sinkhorn(
        self, problem: Problem, problem_rows: RowIndices, rows: RowIndices, *, fine: bool = False
    ) -> None:
        """Bound `rows`, which are `problem_rows` of `problem`, from both sides, and lower the limit."""
        if self._sum and self._sum.has_query_side:
            self._set_query_side(problem, problem_rows, rows)
        lower, upper = bounds.sinkhorn(problem, problem_rows, self._thresholds(rows), fine=fine)
        self._raise_bounds(rows, lower, SINKHORN)
        self._high[rows] = np.minimum(self._high[rows], self._total_above(problem, rows, upper))
        self._lower_limit(self._smallest_high(self._k))

    def _bound_contested(self, rows: RowIndices) -> None:
        """Compute finer bounds of the few `rows` that may or may not be among the k nearest.

        Finer bounds take less time than the transport problems which they save. With many rows, even finer bounds are
        too close to each other to decide.
        """
        bounded = rows[(self._stage[rows] == SINKHORN) & (self._lower[rows] <= self._limit)]
        if len(bounded) <= self._k:
            return
        next_lower = np.partition(self._lower[bounded], self._k)[self._k]
        contested = bounded[self._high[bounded] > next_lower]
        if len(contested) <= _SINKHORN_BLOCK:
            self._bound_finely(contested)

    def _bound_finely(self, rows: RowIndices) -> None:
        """Compute Sinkhorn's finer bounds of a few rows."""
        for block in word_blocks(self._bags, rows, self._max_words):
            check_time()
            problem = self._costs.problem(self._bags.take(block))
            self._bound_problem_by_sinkhorn(problem, np.arange(len(block)), block, fine=True)

    def _smallest_high(self, place: int) -> float:
        """Return the upper bound of a `place`, from 1 on, in the order of upper bounds; infinite if there is none."""
        high = self._high[self._stage >= SINKHORN]
        return float(np.partition(high, place - 1)[place - 1]) if len(high) >= place else np.inf

    def _lower_limit(self, last: float) -> None:
        """Lower the limit: the k-th smallest distance is at most `last`."""
        self._limit = min(self._limit, last)

    def _solve_most_promising(self, rows: RowIndices) -> None:
        """Solve the k rows of least bound: their distances lower the limit further, and most are needed anyway."""
        bounded = rows[(self._stage[rows] == SINKHORN) & (self._lower[rows] <= self._limit)]
        best = bounded[np.argsort(self._lower[bounded], kind="stable")[: self._k]]
        parallel_for(lambda first, last: self._solve(best[first:last]), len(best), small=2)
        if len(best) == self._k:
            self._lower_limit(max(self._value(row) for row in best.tolist()))

    def _thresholds(self, rows: RowIndices) -> bounds.Threshold:
        """Return the distances (m,) of `rows` from which the limit is exceeded."""
        return self._sum.thresholds(rows, self._limit, self._sides_of(rows)) if self._sum else self._limit

    def _total_above(self, problem: Problem, rows: RowIndices, upper: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return upper bounds (m,) of the totals of `rows`, or else distances, from `upper` bounds of the distances."""
        if not self._sum:
            return upper
        # The exact cost of a word exceeds its floor by at most the root of the slack, and so does a mean of costs.
        slack = np.sqrt(problem.slack)
        sides = Sides(*(side / bounds.SUM_MARGIN + slack for side in self._sides_of(rows)))
        finite = np.isfinite(upper)
        return np.where(finite, self._sum.upper(rows, np.where(finite, upper, 0.0), sides), np.inf)

    def _sides_of(self, rows: RowIndices) -> Sides:
        """Return the lower bounds (m,) of both sides of RWMD of `rows`."""
        return Sides(*(side[rows] for side in self._sides or ()))

    def _raise_bounds(self, rows: RowIndices, lower: NDArray[np.float64], stage: int) -> None:
        """Keep the larger of the old and the new lower bound of the distance."""
        self._distance_bound[rows] = np.maximum(self._distance_bound[rows], lower)
        if self._sum:
            self._lower[rows] = self._sum.lower(rows, self._distance_bound[rows], self._sides_of(rows))
        self._stage[rows] = np.maximum(self._stage[rows], stage)

    def _solve(self, rows: RowIndices) -> None:
        for row in rows.tolist():
            self._value(row)

    def _value(self, row: int) -> float:
        """Return the exact distance of a row, or its total if a sum ranks; each row is solved once."""
        if row not in self._exact:
            bag = self._bags[row]
            self._late.check(work_of(len(bag), len(self._query.bag)))
            vectors = self._vectors[bag.words]
            distance = solve_bags(self._query.bag, bag, self._query.vectors, vectors)[0].distance
            value, document, side = distance, np.nan, np.nan
            if self._sum:
                value, document, side = self._sum.exact(row, distance, self._query, vectors, bag.weights)
            self._exact[row] = (value, distance, document, side)
            self._high[row] = value
            # Rounding of the masses can put the bound above the distance: the row would be pruned by its own distance.
            self._lower[row], self._stage[row] = min(self._lower[row], value), SOLVED
        return self._exact[row][0]

    def _limited(self) -> Wanted:
        """Return the request with the current limit as its largest distance."""
        return replace(self._wanted, within=self._limit)

    def _solve_in_order_of_bounds(self, rows: RowIndices) -> Nearest:
        """Solve rows in the order of their lower bounds until the next one cannot be among the nearest."""
        rows = self._remaining(rows)
        wanted = self._limited()
        best, _ = best_first(rows, self._lower[rows], self._value, wanted, self._exact)
        counts = StageCounts(len(self._lower), *np.bincount(self._stage, minlength=4).tolist())
        components = np.array([self._exact[row][1:] for row in best[0].tolist()]).reshape(-1, 3)
        below = unsolved_bounds(self._lower, self._stage == SOLVED, best[1], wanted)
        for row, (value, *_) in self._exact.items():
            self._lower[row] = value
        return Nearest(*best, counts, below, components, self._lower, self._stage == SOLVED)
