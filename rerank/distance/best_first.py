"""Best-first search: compute exact distances in the order of their lower bounds until the k nearest are proven."""

from collections.abc import Callable
from heapq import heappush, heapreplace

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


def never_stop() -> bool:
    """Return False: the default `stop`, with which a search is never ended early."""
    return False


def best_first(
    rows: Rows,
    lower: NDArray[np.float64],
    distance: Callable[[int], float],
    k: int,
    within: float,
    stop: Callable[[], bool] = never_stop,
) -> tuple[tuple[Rows, NDArray[np.float64]], int]:
    """Return the rows (k,) with the smallest distances, those distances (k,), and how many distances were computed.

    `rows` (n,) are visited in the order of their lower bounds `lower` (n,); `distance` returns the exact distance of a
    row. The search ends when the next bound is above `within` or not below the `k`-th smallest distance so far: no
    remaining row can be nearer (Kusner et al. 2015, section 4). Equal distances keep the order of their rows. `stop` is
    polled after `k` distances; once it returns True, the search ends.
    """
    farthest_first: list[tuple[float, int]] = []  # a heap of (-distance, -row)
    computed = 0
    for index in np.argsort(lower, kind="stable").tolist():
        full = len(farthest_first) == k
        if lower[index] > within or (full and (lower[index] >= -farthest_first[0][0] or stop())):
            break
        row = int(rows[index])
        entry = (-distance(row), -row)
        computed += 1
        if not full:
            heappush(farthest_first, entry)
        elif entry > farthest_first[0]:
            heapreplace(farthest_first, entry)
    best = sorted((-negative, -row) for negative, row in farthest_first)
    return (np.array([row for _, row in best], np.int64), np.array([exact for exact, _ in best])), computed
