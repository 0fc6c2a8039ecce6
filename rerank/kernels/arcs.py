"""The arcs of a transport problem that its optimum is likely to use, by their small reduced cost."""

import numpy as np

from moverank.rerank.kernels.compiled import compiled


@compiled()
def promising_arcs(cost, u, v, left, right, count):  # type: ignore[no-untyped-def]
    """Return the arcs (rows, columns) whose reduced cost c_ij - u_i - v_j is among the `count` least of row or column.

    `cost` is (n, m) float64, `u` and `left` are (n,), `v` and `right` (m,). A staircase of arcs that can move all mass
    is added, so that the problem over these arcs always has a solution.
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
    chosen = np.empty((n, m), np.bool_)
    for i in range(n):
        for j in range(m):
            reduced = cost[i, j] - u[i] - v[j]
            chosen[i, j] = reduced <= rows[i, -1] or reduced <= columns[j, -1]
    _add_staircase(left, right, chosen)
    return np.nonzero(chosen)


@compiled()
def missing_arcs(cost, u, v, tolerance):  # type: ignore[no-untyped-def]
    """Return the arcs (rows, columns) whose reduced cost is below -`tolerance`: there the potentials are infeasible.

    `cost` is (n, m) float64, `u` (n,), `v` (m,).
    """
    n, m = cost.shape
    missing = np.empty((n, m), np.bool_)
    for i in range(n):
        for j in range(m):
            missing[i, j] = cost[i, j] - u[i] - v[j] < -tolerance
    return np.nonzero(missing)


@compiled()
def _insert(least, value):  # type: ignore[no-untyped-def]
    """Insert a value into an increasing array, dropping the last element."""
    at = len(least) - 1
    while at > 0 and least[at - 1] > value:
        least[at] = least[at - 1]
        at -= 1
    least[at] = value


@compiled()
def _add_staircase(left, right, chosen):  # type: ignore[no-untyped-def]
    """Mark the arcs of the north-west corner rule: the first row fills the first columns, and so on."""
    i, j, row_rest, column_rest = 0, 0, left[0], right[0]
    chosen[0, 0] = True
    while i < len(left) - 1 or j < len(right) - 1:
        if j == len(right) - 1 or (i < len(left) - 1 and row_rest <= column_rest):
            column_rest -= row_rest
            i += 1
            row_rest = left[i]
        else:
            row_rest -= column_rest
            j += 1
            column_rest = right[j]
        chosen[i, j] = True
