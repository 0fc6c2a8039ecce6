"""The order of bags as exactly as a measure needs it: bounds place most bags, without exact distances.

Average precision, recall and the other measures of a ranking depend on the positions of its relevant documents alone.
A bag whose bounds are both below or both above the distance of a relevant one is on the right side of it, whatever its
distance is. Only bags whose bounds enclose such a distance are solved.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.distance.best_first import Places, RowIndices, Wanted, best_first
from moverank.rerank.distance.cascade import SINKHORN, SOLVED, Cascade
from moverank.rerank.distance.query_bag import Comparison
from moverank.rerank.ranking import Nearest, StageCounts
from moverank.rerank.runtime.thread_pool import parallel_for, single_threaded_blas


class PartialOrder(Cascade):
    """The first `wanted.k` of all bags by distance from the query, with exact `places`.

    The limit is the distance of the last exact place, or the `k`-th distance, whichever is smaller.
    """

    def __init__(self, compared: Comparison, wanted: Wanted, places: Places) -> None:
        super().__init__(compared, replace(wanted, k=min(places.first, wanted.k), partial=False))
        self._cutoff, self._places = wanted.k, places

    def upper_bounds(self, *, close: bool = False) -> NDArray[np.float64]:
        """Return no bounds: exact places belong to a single search."""
        _ = close
        return np.empty(0)

    def answer(self, _limit: float = np.inf) -> Nearest:
        """Return the rows in order; `distances` of rows that are not `known` are lower bounds."""
        with single_threaded_blas():
            if len(self._bags) > self._k:
                self._prune()
            self._solve_places(self._remaining(np.arange(len(self._bags))))
        return self._ordered()

    def _reduce_limit_by_sinkhorn(self, rows: RowIndices) -> None:
        """Bound the rows with exact places, too: without their upper bounds there is no limit."""
        self._bound_by_sinkhorn(self._places.rows)
        super()._reduce_limit_by_sinkhorn(rows)

    def _lower_limit(self, last: float) -> None:
        """Lower the limit: the distance of the last of the first rows is at most `last`."""
        needed = max([last, *self._high[self._places.rows].tolist(), *self._places.values.tolist()])
        self._limit = min(self._limit, needed, self._smallest_high(self._cutoff))

    def _solve_places(self, rows: RowIndices) -> None:
        """Solve the first of `rows`, rows with exact places, and all whose bounds enclose one of these distances."""
        first = best_first(rows, self._lower[rows], self._value, self._limited())[0]
        placed = self._places.rows[self._lower[self._places.rows] <= self._limit]
        self._solve_all(placed)
        exact = [self._value(row) for row in placed.tolist()]
        marks = np.sort(np.concatenate([exact, self._places.values, first[1][-1:]]))
        rows = rows[self._stage[rows] <= SINKHORN]
        below = np.searchsorted(marks, self._lower[rows], "left")
        self._solve_all(rows[below < np.searchsorted(marks, self._high[rows], "right")])

    def _solve_all(self, rows: RowIndices) -> None:
        parallel_for(lambda first, last: self._solve(rows[first:last]), len(rows), small=2)

    def _ordered(self) -> Nearest:
        values, solved = self._lower.copy(), self._stage == SOLVED
        for row, (value, *_) in self._exact.items():
            values[row] = value
        rows = np.argsort(values, kind="stable")[: self._cutoff]
        nothing = (np.nan, np.nan, np.nan, np.nan)
        components = np.array([self._exact.get(row, nothing)[1:] for row in rows.tolist()]).reshape(-1, 3)
        unsolved_bounds = np.sort(values[~solved & (values < values[rows[-1]])])[: self._cutoff]
        counts = StageCounts(len(values), *np.bincount(self._stage, minlength=4).tolist())
        return Nearest(rows, values[rows], counts, unsolved_bounds, components, values, solved)
