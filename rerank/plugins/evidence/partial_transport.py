"""Partial transport over allowed arcs: the most mass that can be moved, and among such plans one of least cost.

Two problems, both solved by the network simplex. The first has a row and a column that take what stays; a cover of the
arcs by rows and columns, of the same mass as the plan moves, proves that no plan moves more. The second moves exactly
that mass at the least cost; its potentials prove the optimum. Masses are whole numbers, so that sums are exact.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.distance.cell_limit import reserved_cells
from moverank.rerank.distance.network_simplex import Arcs, Vertex, network_simplex
from moverank.rerank.errors import TransportError
from moverank.rerank.runtime.deadline import check_time

_MAX_ITERATIONS = 10_000_000
_FIRST_ITERATIONS = 30_000  # tripled until the problem is solved: POT cannot be interrupted
_LARGEST_WHOLE = 2**16  # cells of a problem that is solved as a whole
_GAP_TOLERANCE = 1e-9  # of the largest cost, for each unit of mass

Masses = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PartialPlan:
    """A plan: `mass` (f,) moves over the `arcs` with these numbers (f,), at a total `cost`.

    No plan moves more than `bound`, by a cover; `gap` is the duality gap of the cost.
    """

    arcs: NDArray[np.int64]
    mass: Masses
    cost: float
    bound: int
    gap: float

    @property
    def moved(self) -> int:
        """Return the mass that is moved."""
        return int(self.mass.sum())

    @property
    def certified(self) -> bool:
        """Return whether it is proven that no plan moves more."""
        return self.moved == self.bound


def solve_partial(row_masses: Masses, column_masses: Masses, arcs: Arcs, cost: NDArray[np.float64]) -> PartialPlan:
    """Move as much mass as `arcs` (rows (a,), columns (a,)) allow, at the least `cost` (a,), finite and not negative.

    `row_masses` (n,) and `column_masses` (m,) are whole numbers > 0. An arc is there once. Raises TransportError if POT
    does not reach the optimum, TooLarge for more cells than `limit_cells` allows.
    """
    found = [PartialPlan(np.empty(0, np.int64), np.empty(0, np.int64), 0.0, 0, 0.0)]
    parts = _parts(len(row_masses), len(column_masses), arcs)
    found += [_solved(row_masses, column_masses, arcs, cost, own) for own in parts]
    numbers, mass = (np.concatenate(values) for values in zip(*((one.arcs, one.mass) for one in found), strict=True))
    return PartialPlan(
        numbers, mass, sum(one.cost for one in found), sum(one.bound for one in found), sum(one.gap for one in found)
    )


def _parts(n: int, m: int, arcs: Arcs) -> list[NDArray[np.int64]]:
    """Return the numbers of the arcs of each part: a small problem is one, a large one its connected components."""
    if not len(arcs[0]):
        return []
    if n * m <= _LARGEST_WHOLE:
        return [np.arange(len(arcs[0]))]
    label, before = np.arange(n), np.full(n, -1)
    while not np.array_equal(label, before):
        check_time()
        before, of_columns = label.copy(), np.full(m, n)
        np.minimum.at(of_columns, arcs[1], label[arcs[0]])
        np.minimum.at(label, arcs[0], of_columns[arcs[1]])
    order = np.argsort(label[arcs[0]], kind="stable")
    return np.split(order, 1 + np.flatnonzero(np.diff(label[arcs[0]][order])))


def _solved(
    row_masses: Masses, column_masses: Masses, arcs: Arcs, cost: NDArray[np.float64], own: NDArray[np.int64]
) -> PartialPlan:
    """Solve the problem of the arcs `own` (b,) alone, with only the rows and columns that have one of these arcs."""
    used_rows, rows = np.unique(arcs[0][own], return_inverse=True)
    used_columns, columns = np.unique(arcs[1][own], return_inverse=True)
    problem = _Problem(row_masses[used_rows], column_masses[used_columns], rows, columns, cost[own])
    with reserved_cells(len(used_rows) + 1, len(used_columns) + 1):
        most = problem.most()
        mass, gap = problem.least_cost(int(most.sum()))
    moving = np.flatnonzero(mass)
    return PartialPlan(own[moving], mass[moving], float(mass @ cost[own]), problem.cover(most), gap)


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """Masses a (n,) and b (m,), and arcs with costs; all rows and columns have arcs."""

    a: Masses
    b: Masses
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    cost: NDArray[np.float64]

    def most(self) -> Masses:
        """Return the mass (a,) on each arc of a plan that moves as much as possible: mass that stays costs 1."""
        n, m = len(self.a), len(self.b)
        rows = np.concatenate([self.rows, np.arange(n), np.full(m + 1, n)])
        columns = np.concatenate([self.columns, np.full(n, m), np.arange(m + 1)])
        cost = np.concatenate([np.zeros(len(self.rows)), np.ones(n), np.zeros(m + 1)])
        sums = np.append(self.a, self.b.sum()), np.append(self.b, self.a.sum())
        return self._solved(*sums, (rows, columns), cost)[0]

    def least_cost(self, moved: int) -> tuple[Masses, float]:
        """Return the mass (a,) on each arc of a plan of least cost that moves as much as is `moved`, and the gap."""
        n, m, unit = len(self.a), len(self.b), float(self.cost.max()) or 1.0
        left, missing = int(self.a.sum()) - moved, int(self.b.sum()) - moved
        rows, columns, sums = [self.rows], [self.columns], [self.a, self.b]
        if left:  # a column that takes the mass that stays
            rows, columns = [*rows, np.arange(n)], [*columns, np.full(n, m)]
            sums[1] = np.append(self.b, left)
        if missing:
            rows, columns = [*rows, np.full(m, n)], [*columns, np.arange(m)]
            sums[0] = np.append(self.a, missing)
        arcs = np.concatenate(rows), np.concatenate(columns)
        cost = np.concatenate([self.cost / unit, np.zeros(len(arcs[0]) - len(self.cost))])
        mass, gap = self._solved(sums[0], sums[1], arcs, cost)
        if not abs(gap) <= _GAP_TOLERANCE * max(1, moved):
            raise TransportError(f"POT did not reach the optimum: duality gap {gap:.3g}")
        return mass, gap * unit

    def _solved(self, a: Masses, b: Masses, arcs: Arcs, cost: NDArray[np.float64]) -> tuple[Masses, float]:
        """Return the mass on the arcs of the problem, which come first, and the duality gap."""
        matrix = np.zeros((len(a), len(b)))
        matrix[arcs] = cost
        found = _vertex(a.astype(np.float64), b.astype(np.float64), matrix, arcs)
        moved = found.mass[arcs]
        mass = np.rint(moved).astype(np.int64)
        off = np.abs(moved - mass).max(initial=0.0)
        exact = np.array_equal(np.bincount(arcs[0], mass, len(a)), a) and np.array_equal(
            np.bincount(arcs[1], mass, len(b)), b
        )
        if found.failure or off > 1e-6 or not exact:
            raise TransportError(f"POT did not reach the optimum: {found.failure or 'sums of the plan are off'}")
        least = np.full(len(a), np.inf)
        np.minimum.at(least, arcs[0], cost - found.v[arcs[1]])
        dual = a @ np.minimum(found.u, least) + b @ found.v
        return mass[: len(self.cost)], float(mass @ cost - dual)

    def cover(self, mass: Masses) -> int:
        """Return the mass of a cover of all arcs by rows and columns: no plan moves more.

        The cover has the rows that no chain of moves connects with a row that keeps mass, and the columns that one
        does (König): if the plan moves the most, these columns are full, and the rows have moved all.
        """
        from_rows = np.bincount(self.rows, mass, len(self.a)) < self.a
        to_columns = np.zeros(len(self.b), bool)
        while True:
            to_columns[self.columns[from_rows[self.rows]]] = True
            more = from_rows.copy()
            more[self.rows[to_columns[self.columns] & (mass > 0)]] = True
            if np.array_equal(more, from_rows):
                return int(self.a[~from_rows].sum() + self.b[to_columns].sum())
            from_rows = more


def _vertex(a: NDArray[np.float64], b: NDArray[np.float64], cost: NDArray[np.float64], arcs: Arcs) -> Vertex:
    """Return POT's result; it restarts with more iterations after each check of the time."""
    most = _FIRST_ITERATIONS
    while True:
        check_time()
        found = network_simplex(a, b, cost, arcs, most)
        if found.failure is None or most >= _MAX_ITERATIONS:
            return found
        most *= 3
