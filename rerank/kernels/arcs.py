"""The arcs of a transport problem that are worth trying: those that near-optimal potentials make cheap."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def promising_arcs(cost, u, v, left, right, count):  # type: ignore[no-untyped-def]
    """Return the arcs (rows, columns) that are among the `count` of least c_ij - u_i - v_j of their row or column.

    So are the arcs of a staircase, which can move all mass: the problem over these arcs always has a solution.
    """
    n, m = cost.shape
    rows, columns = np.full((n, count), np.inf), np.full((m, count), np.inf)
    for i in range(n):
        for j in range(m):
            reduced = cost[i, j] - u[i] - v[j]
            if reduced < rows[i, -1]:
                _insert(rows[i], reduced)
            if reduced < columns[j, -1]:
                _insert(columns[j], reduced)
    kept = np.empty((n, m), np.bool_)
    for i in range(n):
        for j in range(m):
            reduced = cost[i, j] - u[i] - v[j]
            kept[i, j] = reduced <= rows[i, -1] or reduced <= columns[j, -1]
    _staircase(left, right, kept)
    return np.nonzero(kept)


@njit(cache=True, nogil=True)
def missing_arcs(cost, u, v, rounding):  # type: ignore[no-untyped-def]
    """Return the arcs (rows, columns) that are cheaper than potentials allow."""
    n, m = cost.shape
    missing = np.empty((n, m), np.bool_)
    for i in range(n):
        for j in range(m):
            missing[i, j] = cost[i, j] - u[i] - v[j] < -rounding
    return np.nonzero(missing)


@njit(cache=True, nogil=True)
def _insert(least, value):  # type: ignore[no-untyped-def]
    """Put a value where it belongs among increasing ones, and lose the last."""
    at = len(least) - 1
    while at > 0 and least[at - 1] > value:
        least[at] = least[at - 1]
        at -= 1
    least[at] = value


@njit(cache=True, nogil=True)
def _staircase(left, right, kept):  # type: ignore[no-untyped-def]
    """Mark the arcs that mass takes when the first row fills the first columns, and so on."""
    i, j, here, there = 0, 0, left[0], right[0]
    kept[0, 0] = True
    while i < len(left) - 1 or j < len(right) - 1:
        if j == len(right) - 1 or (i < len(left) - 1 and here <= there):
            there -= here
            i += 1
            here = left[i]
        else:
            here -= there
            j += 1
            there = right[j]
        kept[i, j] = True
