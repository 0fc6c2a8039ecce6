"""The exact transport problem, solved by POT's network simplex, with a proof of the optimum."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from moverank.rerank import kernels
from moverank.rerank.bags.bag import Bag, ResidualMass
from moverank.rerank.distance.cell_limit import reserved_cells
from moverank.rerank.distance.ground_cost import bounded_cost, exact_cost
from moverank.rerank.distance.network_simplex import Arcs, Vertex, network_simplex
from moverank.rerank.errors import TransportError
from moverank.rerank.runtime.deadline import check_time

_MAX_ITERATIONS = 10_000_000
_LONG_PROBLEM = 2**20  # cells, or work, from which the time is checked between the steps of a solution
_FIRST_ITERATIONS = 30_000  # of a long problem, tripled until it is solved: POT cannot be interrupted
# From this many arcs, Sinkhorn's potentials select the arcs that matter: the simplex is much faster over these alone.
_LARGE_PROBLEM = 2000
_SINKHORN_STEPS = 15
_ARCS_PER_WORD = 10  # initially
_MAX_ROUNDS = 6  # of adding missing arcs
_FEASIBILITY_TOLERANCE = 1e-12
_PORTION = 2**20  # cells that are copied at a time
_MIN_CONTRAST = 400  # the largest squared cost floor over its slack, below which the floor cannot rank arcs
# The simplex ends at a vertex whose potentials are exact up to rounding: a larger gap means that it stopped early.
_GAP_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A solved problem: its `distance`, the `mass` (n, m) moved, and the duality `gap`, which proves the optimum.

    `v` (m,) are the potentials of the columns: with u_i = min_j (c_ij - v_j) they are feasible and optimal.
    """

    distance: float
    mass: NDArray[np.float64]
    gap: float
    v: NDArray[np.float64]


def work_of(n: int, m: int) -> int:
    """Return the work of a problem with `n` rows and `m` columns, in cells of a square problem: about 3e-7 s each.

    With few columns, the simplex takes most of the time, which grows with the square of the number of nodes.
    """
    return max(n * m, (n + m) ** 2 // 64)


def solve(source_weights: NDArray[np.float64], target_weights: NDArray[np.float64], cost: NDArray[np.float64]) -> Plan:
    """Solve `min sum T_ij c_ij` (Kusner et al. 2015, eq. 1) for a `cost` (n, m).

    The row sums of T are `source_weights` (n,), its column sums `target_weights` (m,). Raises TransportError if POT
    does not report an optimum, or if its potentials do not prove one: the duality gap must be at most 1e-9 of the
    largest cost.
    """
    # The solver's tolerance is absolute: it would treat all costs of 1e-12 as equal.
    unit = float(cost.max()) or 1.0
    return _Problem(source_weights, target_weights, cost / unit, unit).plan()


def solve_vectors(
    source_weights: NDArray[np.float64],
    target_weights: NDArray[np.float64],
    sources: NDArray[np.float32],
    targets: NDArray[np.float32],
) -> Plan:
    """Solve the problem of word vectors `sources` (n, d) and `targets` (m, d).

    `source_weights` (n,) and `target_weights` (m,) are the masses. The result and the errors are as in `solve` with
    `exact_cost`. In a large problem most exact costs are never computed: the cost floor proves that their arcs are not
    needed for the optimum. Raises OutOfTime in a long problem when the time is used up.
    """
    if len(sources) * len(targets) >= _LARGE_PROBLEM:
        floor, slack = bounded_cost(sources, targets)
        highest = float(floor.max()) ** 2
        if highest >= _MIN_CONTRAST * slack:  # else the floor is too far below the costs to distinguish them
            unit = float(np.sqrt(highest + slack))
            cost, exact = floor.astype(np.float64), partial(kernels.exact_arcs, sources, targets)
            del floor  # large matrices are freed as soon as they can be
            cost /= unit
            return _Problem(source_weights, target_weights, cost, unit, exact).plan()
    return solve(source_weights, target_weights, exact_cost(sources, targets))


@dataclass(frozen=True, slots=True, eq=False)
class _Solution:
    """POT's result: mass (n, m), potentials `u` (n,) and `v` (m,), their duality gap, and POT's failure, if any."""

    distance: float
    mass: NDArray[np.float64]
    u: NDArray[np.float64]
    v: NDArray[np.float64]
    gap: float
    failure: str | None

    @property
    def proven(self) -> bool:
        """Whether the potentials prove the optimum."""
        return self.failure is None and abs(self.gap) <= _GAP_TOLERANCE

    def plan(self, unit: float) -> Plan:
        """Return the plan in the original unit of the costs; raise TransportError if it is not proven."""
        if not self.proven:
            raise TransportError(f"POT did not reach the optimum: {self.failure or f'duality gap {self.gap:.3g}'}")
        return Plan(self.distance * unit, self.mass, self.gap * unit, self.v * unit)


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """Row sums (n,), column sums (m,) and costs (n, m) scaled to at most 1, in units of `unit`.

    If `exact` is given, `cost` is a floor, in which `exact` replaces single arcs by exact costs on demand.
    """

    row_sums: NDArray[np.float64]
    column_sums: NDArray[np.float64]
    cost: NDArray[np.float64]
    unit: float
    exact: Callable[..., NDArray[np.float64]] | None = None

    def plan(self) -> Plan:
        """Solve over few arcs if the problem is large and this proves the optimum, otherwise over all arcs."""
        over_few = self.solve_over_few_arcs() if self.cost.size >= _LARGE_PROBLEM and self.cost.any() else None
        if over_few is None and self.exact is not None:
            columns = np.arange(self.cost.shape[1])
            for row in range(len(self.cost)):
                self._check_time()
                self._compute_exact((np.full(len(columns), row), columns))
        return (over_few or self.solve()).plan(self.unit)

    def solve_over_few_arcs(self) -> _Solution | None:
        """Solve over the promising arcs, adding missing arcs until none is left; None if the result proves no optimum.

        The potentials of the smaller problem prove the optimum of the whole once no arc has a negative reduced cost.
        """
        self._check_time()
        u, v = kernels.near_potentials(self.cost, self.row_sums, self.column_sums, _SINKHORN_STEPS)
        self._check_time()
        arcs = kernels.promising_arcs(self.cost, u, v, self.row_sums, self.column_sums, _ARCS_PER_WORD)
        self._compute_exact(arcs)
        for _ in range(_MAX_ROUNDS):
            solution = self.solve(arcs)
            if solution.proven:
                return solution
            missing = self._missing(solution)
            if not len(missing[0]):
                solution = replace(solution, gap=self._gap(solution.distance, solution.u, solution.v))
                return solution if solution.proven else None
            arcs = np.append(arcs[0], missing[0]), np.append(arcs[1], missing[1])
            del solution  # frees its matrix of masses before the next one is allocated
        return None

    def solve(self, arcs: Arcs | None = None) -> _Solution:
        """Solve over `arcs` (rows, columns), or over all arcs, with the current costs."""
        found = self._vertex(arcs)
        mass, u, v, failure = found.mass, found.u, found.v, found.failure
        distance = sum(float(np.sum(mass[rows] * self.cost[rows])) for rows in self._portions())
        row_error = np.abs(mass.sum(axis=1) - self.row_sums).sum()
        marginal_error = float(row_error + np.abs(mass.sum(axis=0) - self.column_sums).sum())
        if failure is None and not marginal_error <= _GAP_TOLERANCE:
            failure = f"row and column sums of the plan are off by {marginal_error:.3g}"
        return _Solution(distance, mass, u, v, self._gap(distance, u, v), failure)

    def _vertex(self, arcs: Arcs | None) -> Vertex:
        """Return POT's result; a long problem restarts with more iterations after each check of the time."""
        most = min(_FIRST_ITERATIONS, _MAX_ITERATIONS) if self.cost.size >= _LONG_PROBLEM else _MAX_ITERATIONS
        while True:
            self._check_time()
            found = network_simplex(self.row_sums, self.column_sums, self.cost, arcs, most)
            if found.failure is None or most == _MAX_ITERATIONS:
                return found
            most = min(3 * most, _MAX_ITERATIONS)

    def _check_time(self) -> None:
        """Raise OutOfTime if the time is used up and the problem is a long one."""
        if work_of(*self.cost.shape) >= _LONG_PROBLEM:
            check_time()

    def _compute_exact(self, arcs: Arcs) -> None:
        """Replace the cost floor of arcs by their exact costs."""
        if self.exact is not None:
            self.cost[arcs] = self.exact(*arcs) / self.unit

    def _missing(self, solution: _Solution) -> Arcs:
        """Return the arcs of negative reduced cost: selected by their cost floors, then by their exact costs."""
        missing: Arcs = kernels.missing_arcs(self.cost, solution.u, solution.v, _FEASIBILITY_TOLERANCE)
        if self.exact is not None and len(missing[0]):
            self._compute_exact(missing)
            missing = kernels.missing_arcs(self.cost, solution.u, solution.v, _FEASIBILITY_TOLERANCE)
        return missing

    def _gap(self, distance: float, u: NDArray[np.float64], v: NDArray[np.float64]) -> float:
        """Return the cost less the dual value, after lowering `u` where needed to make the potentials feasible."""
        least = np.concatenate([(self.cost[rows] - v).min(axis=1) for rows in self._portions()])
        feasible = np.minimum(u, least)
        return float(distance - (self.row_sums @ feasible + self.column_sums @ v))

    def _portions(self) -> Iterator[slice]:
        """Yield portions of the rows: a copy of all costs would take as much memory as the costs."""
        n, m = self.cost.shape
        size = max(1, _PORTION // m)
        return (slice(start, start + size) for start in range(0, n, size))


def solve_bags(
    source: Bag, target: Bag, source_vectors: NDArray[np.float32], target_vectors: NDArray[np.float32]
) -> tuple[Plan, ResidualMass]:
    """Solve the transport of two bags with word vectors (n, d) and (m, d), after removing shared mass.

    `source_vectors` and `target_vectors` belong to the entries of `source` and `target`. Returns the plan, whose
    distance is the Word Mover's Distance of the bags, and the residual masses that the plan moves. Raises TooLarge if
    the residual masses have more words than `limit_cells` allows.
    """
    residual = ResidualMass.of(source, target)
    if not (len(residual.sources) and len(residual.targets)):
        return Plan(
            0.0, np.zeros((len(residual.sources), len(residual.targets))), 0.0, np.zeros(len(residual.targets))
        ), residual
    # The solver's tolerance assumes a total mass of one: a residual of 1e-12 would be below it.
    moving = float(residual.left.sum())
    weights = residual.left / moving, residual.right / residual.right.sum()
    with reserved_cells(len(residual.sources), len(residual.targets)):
        plan = solve_vectors(*weights, source_vectors[residual.sources], target_vectors[residual.targets])
    return Plan(plan.distance * moving, plan.mass * moving, plan.gap * moving, plan.v), residual
