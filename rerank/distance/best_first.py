"""Best-first search: compute exact distances in the order of their lower bounds until the k nearest are proven."""

from collections.abc import Callable, Container
from dataclasses import dataclass, field
from heapq import heappush, heapreplace

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.distance.weighted_sum import WeightedSum
from moverank.rerank.errors import OutOfTime
from moverank.rerank.ranking import Distance
from moverank.rerank.runtime.deadline import NO_ANSWER, check_time, time_is_over

RowIndices = NDArray[np.int64]

_LATE_WORK = 2**20


class LateProblems:
    """Limits the work on transport problems after the time is used up: none is allowed unless results may be `partial`.

    The limit is the work of about a million cells of a cost matrix, some tenths of a second, so that there are hits.
    """

    def __init__(self, *, partial: bool) -> None:
        self._partial, self._work = partial, 0

    def check(self, work: int) -> None:
        """Raise OutOfTime if the time is used up and a problem of this much `work`, in cells, exceeds the limit."""
        if time_is_over():
            self._work += work
            if not self._partial or self._work > _LATE_WORK:
                check_time()


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The exact places of an order: the positions of `rows` (m,), and the `first` bags.

    `values` (x,) rank documents without a bag, whose positions must be exact, too.
    """

    rows: RowIndices
    first: int
    values: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """Which bags a search returns: the `k` nearest by a `distance`; "wmd" and "pwmd" differ only in the bags' weights.

    With `total`, the weights of a sum for each bag, its totals rank instead of the distance. Rows known to be farther
    than `within` are not computed, so fewer than `k` may be returned.

    `partial`: when the time of this thread's work is used up, the search returns the rows so far, perhaps fewer than
    `k`, and `Nearest.unsolved_bounds` bound the other rows.

    With `places`, only these need to be exact in the order of the `k` rows: the distances of rows that are not `known`
    are lower bounds. `within` must be infinite then.
    """

    k: int
    distance: Distance = "wmd"
    within: float = np.inf
    total: WeightedSum | None = None
    places: Places | None = None
    partial: bool = False


def best_first(
    rows: RowIndices,
    lower: NDArray[np.float64],
    distance: Callable[[int], float],
    wanted: Wanted,
    solved: Container[int] = (),
) -> tuple[tuple[RowIndices, NDArray[np.float64]], int]:
    """Return the rows (k,) with the smallest distances, their distances (k,), and how many were computed.

    `rows` (n,) are visited in the order of their lower bounds `lower` (n,); `distance` returns the exact distance of a
    row. The search ends when the next bound is above `within` or not below the `k`-th smallest distance so far: no
    remaining row can be nearer (Kusner et al. 2015, section 4). Equal distances keep the order of their rows.

    `partial`: when the time is used up and `k` rows are found, or if `distance` raises OutOfTime, the search ends with
    the best rows so far; rows that were `solved` before still count. Raises OutOfTime if there are no such rows, or if
    the search must not be partial.
    """
    farthest_first: list[tuple[float, int]] = []  # a heap of (-distance, -row)
    k, within, partial = wanted.k, wanted.within, wanted.partial
    computed, late = 0, False
    for index in np.argsort(lower, kind="stable").tolist():
        full = len(farthest_first) == k
        if lower[index] > within or (full and lower[index] >= -farthest_first[0][0]):
            break
        row = int(rows[index])
        if late and row not in solved:
            continue
        try:
            if row not in solved and (full or not partial):
                check_time()
            entry = (-distance(row), -row)
        except OutOfTime:
            if not partial:
                raise
            late = True
            continue
        computed += 1
        if not full:
            heappush(farthest_first, entry)
        elif entry > farthest_first[0]:
            heapreplace(farthest_first, entry)
    if late and not farthest_first:
        raise OutOfTime(NO_ANSWER)
    best = sorted((-negative, -row) for negative, row in farthest_first)
    return (np.array([row for _, row in best], np.int64), np.array([exact for exact, _ in best])), computed


def unsolved_bounds(
    lower: NDArray[np.float64], solved: NDArray[np.bool_], distances: NDArray[np.float64], wanted: Wanted
) -> NDArray[np.float64]:
    """Return the smallest lower bounds, at most `k`, of unsolved rows that may be hits; none if the hits are proven.

    `lower` (n,) are the bounds of all rows, `solved` (n,) marks the solved ones, and `distances` are the distances
    found, at most `k`, increasing.
    """
    may_be = lower < distances[-1] if len(distances) == wanted.k else lower <= wanted.within
    return np.sort(lower[~solved & may_be])[: wanted.k]
