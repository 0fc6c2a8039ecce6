"""The exact k nearest bags by a cascade of bounds, each dearer and tighter than the one before.

RWMD's document side for all; for what it leaves a dual, over coarse costs where they are many, then Sinkhorn's bounds,
in the order of promise; and the transport problem itself for the few documents that no bound can tell from the k
nearest. The k-th smallest upper bound or distance found so far is the limit: whatever has a lower bound above it is out
for certain.
"""

import sys
from collections.abc import Callable, Iterator
from heapq import heappush, heapreplace

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance import bounds
from moverank.rerank.distance.bounds import Problem
from moverank.rerank.distance.cost_cache import CostCache
from moverank.rerank.distance.quantised_cost import QuantisedCost
from moverank.rerank.distance.query_bag import QueryBag, restricted
from moverank.rerank.distance.transport import solve_bags
from moverank.rerank.ranking import Nearest, StageCounts
from moverank.rerank.runtime.threads import parallel_for, single_threaded_blas

SCRATCH = 256 * 2**20
"""Bytes that the costs of a whole vocabulary may take, one for each pair of words."""

FINE = 64 * 2**20
"""Bytes that a float32 cost matrix may take, and the vectors that it is made of."""

FEW = 1000
"""Documents whose words' costs are not worth being computed coarsely first."""

_BLOCK = 32  # documents that Sinkhorn's bounds are computed for between two looks at the limit
_AHEAD = 128  # documents whose costs are computed at a time
_PORTION = 1024  # documents that are looked at coarsely before the limit is set anew

Rows = NDArray[np.int64]
RWMD, DUAL, SINKHORN, SOLVED = range(4)


def never() -> bool:
    """Never stop."""
    return False


class Cascade:
    """One search for the `k` nearest; whatever is farther than `within` is of no interest.

    `stop` is asked now and then: once it says yes, the search ends as soon as there are k distances.
    """

    def __init__(
        self,
        query: QueryBag,
        bags: Bags,
        vectors: NDArray[np.float32],
        norms: NDArray[np.float32],
        k: int,
        within: float = np.inf,
        stop: Callable[[], bool] = never,
    ) -> None:
        self._query, self._bags, self._vectors, self._norms = query, bags, vectors, norms
        self._k, self.limit, self._stop = k, within, stop
        self._most = most_words(query)
        self._fine = CostCache(query, vectors, norms, self._most)
        n = len(bags)
        self.floor = np.zeros(n)
        self.stage = np.full(n, RWMD, np.uint8)
        self._uppers = np.empty(0)
        self._exact: dict[int, float] = {}

    def run(self) -> Nearest:
        """Find them."""
        every = np.arange(len(self._bags))
        with single_threaded_blas():
            if len(every) > self._k:
                self._throw_out(every)
            return self._settle(every)

    def _throw_out(self, rows: Rows) -> None:
        """Raise the floors until they are above the limit wherever bounds can bring them there."""
        if len(rows) <= FEW and len(self._vectors) <= self._most:
            self._look_at_few(rows)
        else:
            self._look_at_many(rows)
        rows = self._in_order(rows)
        for start in range(0, len(rows), _AHEAD):
            block = rows[start : start + _AHEAD]
            if self.floor[block[0]] > self.limit or self._stop():
                break
            self._bound_closely(block)
            if not start:
                self._settle_best(rows)

    def _look_at_few(self, rows: Rows) -> None:
        """Find RWMD's document side of rows, and the dual of what it leaves, by costs that closer looks need again."""
        problem = self._fine.problem(self._bags)
        self.floor[:] = bounds.document_side(problem.bags, bounds.nearest_costs(problem.cost))
        self._look_closer(rows)
        rest = self._in_order(rows)
        rest = rest[self.stage[rest] < DUAL]
        self._raise(rest, bounds.one_pass_dual(problem, rest, self.limit), DUAL)

    def _look_at_many(self, rows: Rows) -> None:
        """Find RWMD's document side of rows and the dual of what it leaves by costs of little more than a byte."""
        coarse = QuantisedCost.of(self._query, self._vectors, self._norms, SCRATCH, self._fine.room())
        self.floor[:] = bounds.document_side(self._bags, coarse.nearest)
        self._look_closer(rows)
        self._look_coarsely(coarse, self._in_order(rows))

    def _in_order(self, rows: Rows) -> Rows:
        """Return the rows still in, the most promising first."""
        left = rows[self.floor[rows] <= self.limit]
        return left[np.argsort(self.floor[left], kind="stable")]

    def _look_coarsely(self, coarse: QuantisedCost, rows: Rows) -> None:
        """Find the coarse dual of rows in the order of their floors; a closer look between sets the limit.

        One direction is enough for almost all: the other is for the few that it leaves.
        """
        size, start = _PORTION, 0
        while start < len(rows) and self.floor[rows[start]] <= self.limit and not self._stop():
            portion = rows[start : start + size]
            portion = portion[self.floor[portion] <= self.limit]
            self._bound_coarsely(coarse, portion, -np.inf)
            self._look_closer(portion)
            start, size = start + size, 4 * size
        rest = rows[(self.stage[rows] == DUAL) & (self.floor[rows] <= self.limit)]
        self._bound_coarsely(coarse, rest, np.inf)

    def _bound_coarsely(self, coarse: QuantisedCost, rows: Rows, enough: float) -> None:
        """Find the coarse dual of rows; where the whole vocabulary is too much, over the words of some at a time."""
        rows = np.sort(rows)  # as they lie in memory
        if len(coarse.above):
            self._raise(rows, bounds.coarse_dual(coarse, self._query.bag, self._bags, rows, enough), DUAL)
            return
        for block in fitting(self._bags, rows, self._most):
            query, bags, vectors, norms = self._among(block)
            own = QuantisedCost.of(query, vectors, norms, sys.maxsize)
            self._raise(block, bounds.coarse_dual(own, query.bag, bags, np.arange(len(block)), enough), DUAL)

    def _look_closer(self, rows: Rows) -> None:
        """Find Sinkhorn's bounds of the most promising rows that have none yet: they set the limit for the others."""
        new = rows[(self.stage[rows] < SINKHORN) & (self.floor[rows] <= self.limit)]
        count = min(len(new), self._k + _BLOCK // 2)
        if count:
            self._bound_closely(new[np.argpartition(self.floor[new], count - 1)[:count]])

    def _bound_closely(self, rows: Rows) -> None:
        """Find the dual and Sinkhorn's bounds of rows, as long as each is promising."""
        rows = rows[(self.stage[rows] < SINKHORN) & (self.floor[rows] <= self.limit)]
        for block in fitting(self._bags, rows, self._most):
            problem = self._fine.problem(self._bags.take(block))
            order = np.argsort(self.floor[block], kind="stable")
            for start in range(0, len(order), _BLOCK):
                promising = order[start : start + _BLOCK]
                promising = promising[self.floor[block[promising]] <= self.limit]
                if len(promising):
                    self._sinkhorn(problem, promising, block[promising])

    def _among(self, rows: Rows) -> tuple[QueryBag, Bags, NDArray[np.float32], NDArray[np.float32]]:
        """Return the query and the bags of rows over the words that these use, with the words' vectors and norms."""
        return restricted(self._query, self._bags.take(rows), self._vectors, self._norms)

    def _sinkhorn(self, problem: Problem, places: Rows, rows: Rows) -> None:
        """Bound rows from both sides, and lower the limit to the k-th smallest upper bound."""
        lower, upper = bounds.sinkhorn(problem, places, self.limit)
        self._raise(rows, lower, SINKHORN)
        self._uppers = np.sort(np.append(self._uppers, upper[np.isfinite(upper)]))[: self._k]
        if len(self._uppers) == self._k:
            self.limit = min(self.limit, float(self._uppers[-1]))

    def _settle_best(self, rows: Rows) -> None:
        """Solve the k most promising: their distances are a tighter limit than any upper bound, and wanted anyway."""
        seen = rows[self.stage[rows] == SINKHORN]
        best = seen[np.argsort(self.floor[seen], kind="stable")[: self._k]]
        if len(best) == self._k:
            parallel_for(lambda first, last: self._solve(best[first:last]), len(best), small=2)
            self.limit = min(self.limit, max(self._distance(row) for row in best.tolist()))

    def _raise(self, rows: Rows, lower: NDArray[np.float64], stage: int) -> None:
        """Take a better lower bound."""
        self.floor[rows] = np.maximum(self.floor[rows], lower)
        self.stage[rows] = np.maximum(self.stage[rows], stage)

    def _solve(self, rows: Rows) -> None:
        """Solve rows."""
        for row in rows.tolist():
            self._distance(row)

    def _distance(self, row: int) -> float:
        """Return the exact distance of a row, solved once."""
        if row not in self._exact:
            bag = self._bags[row]
            vectors = self._vectors[bag.words]
            self._exact[row] = solve_bags(self._query.bag, bag, self._query.vectors, vectors)[0].distance
            # A bound may be above by the last digit that masses have: the row would be farther than itself.
            self.floor[row], self.stage[row] = min(self.floor[row], self._exact[row]), SOLVED
        return self._exact[row]

    def _settle(self, rows: Rows) -> Nearest:
        """Solve rows in the order of their floors until the next cannot be among the nearest."""
        rows = self._in_order(rows)
        best, _ = best_first(rows, self.floor[rows], self._distance, self._k, self.limit, self._stop)
        counts = StageCounts(len(self.floor), *np.bincount(self.stage, minlength=4).tolist())
        return Nearest(*best, counts, self._possible(best[1]))

    def _possible(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the smallest floors (at most k) below the last distance of rows not solved: none if it is proven."""
        last = distances[-1] if len(distances) == self._k else self.limit
        open_ = np.sort(self.floor[(self.stage != SOLVED) & (self.floor < last)])
        return open_[: self._k]


def most_words(query: QueryBag) -> int:
    """Return how many words documents may have together for their costs and vectors to be at hand at once."""
    longest: int = max(query.vectors.shape)
    return max(1, FINE // (4 * longest))


def fitting(bags: Bags, rows: Rows, most: int) -> Iterator[Rows]:
    """Cut rows into blocks of at most so many words; a row may have more alone."""
    words = np.cumsum(bags.starts[rows + 1] - bags.starts[rows])
    start = 0
    while start < len(rows):
        done = words[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(words, done + most, "right")))
        yield rows[start:stop]
        start = stop


def best_first(
    rows: Rows,
    floor: NDArray[np.float64],
    settle: Callable[[int], float],
    k: int,
    within: float,
    stop: Callable[[], bool] = never,
) -> tuple[tuple[Rows, NDArray[np.float64]], int]:
    """Settle rows in the order of their floor (n,) until the next cannot be among the best `k`; say how many were.

    The search ends when the next bound is not below the k-th distance found: nothing that is left can be nearer (Kusner
    et al. 2015, section 4). Equal distances are kept in the order of their rows.
    """
    worst_first: list[tuple[float, int]] = []  # a heap of (-distance, -row)
    settled = 0
    for place in np.argsort(floor, kind="stable").tolist():
        full = len(worst_first) == k
        if floor[place] > within or (full and (floor[place] >= -worst_first[0][0] or stop())):
            break
        row = int(rows[place])
        entry = (-settle(row), -row)
        settled += 1
        if not full:
            heappush(worst_first, entry)
        elif entry > worst_first[0]:
            heapreplace(worst_first, entry)
    best = sorted((-distance, -row) for distance, row in worst_first)
    return (np.array([row for _, row in best], np.int64), np.array([found for found, _ in best])), settled
