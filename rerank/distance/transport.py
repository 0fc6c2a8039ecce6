"""The exact transport problem, solved by POT's network simplex: the only module that imports POT."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Rest
from moverank.rerank.distance.ground_cost import bounded_cost, exact_cost
from moverank.rerank.errors import TransportError
from moverank.rerank.runtime.lazy_import import lazy_import
from moverank.rerank.runtime.shared_context import SharedContext

_ITERATIONS = 10_000_000
# Where there is much to do, Sinkhorn's potentials tell which arcs matter: the simplex is much faster over these alone.
_STEPS = 15
_WORTH_A_CHOICE = 2000
_ARCS = 10  # of each word, to begin with
_ROUNDS = 6
_FEASIBLE = 1e-12
_CLEAR = 400  # how far squares of costs have to be above their slack for the floor to be of use
# The simplex ends at a vertex whose potentials are exact but for rounding: a larger gap means that it did not end.
_GAP = 1e-9

Arcs = tuple[NDArray[np.int64], NDArray[np.int64]]


@cache
def _pot() -> Any:
    """Return POT: only who needs an exact distance waits for it."""
    # These import scipy.stats, which takes as long as all the rest, and nothing here needs it.
    with lazy_import("ot.datasets"):
        import ot
    return ot


_quiet = SharedContext(lambda: warnings.catch_warnings(action="ignore"))


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A solved problem: `distance`, the mass moved (n, m) and the duality gap, which proves the optimum."""

    distance: float
    mass: NDArray[np.float64]
    gap: float


def solve(source_weights: NDArray[np.float64], target_weights: NDArray[np.float64], cost: NDArray[np.float64]) -> Plan:
    """Solve `min sum T_ij c_ij` with row sums (n,) and column sums (m,) given, cost (n, m) (Kusner et al. 2015, eq. 1).

    Raises TransportError when POT reports anything but an optimum, or when the potentials that it returns do not prove
    one: their dual value has to reach the cost but for 1e-9 of the largest cost.
    """
    # The solver's tolerance is absolute: costs of 1e-12 would all be the same to it.
    unit = float(cost.max()) or 1.0
    return _Problem(source_weights, target_weights, cost / unit, unit).plan()


def solve_vectors(
    source_weights: NDArray[np.float64],
    target_weights: NDArray[np.float64],
    sources: NDArray[np.float32],
    targets: NDArray[np.float32],
) -> Plan:
    """Solve the problem of word vectors (n, d) and (m, d): `solve` of `exact_cost`, and the same errors.

    Of a large problem, most exact costs are never computed: the cost floor tells that their arcs do not matter.
    """
    from moverank.rerank.kernels.costs import exact_arcs

    if len(sources) * len(targets) >= _WORTH_A_CHOICE:
        floor, slack = bounded_cost(sources, targets)
        highest = float(floor.max()) ** 2
        if highest >= _CLEAR * slack:  # else the floor is too far below the costs to tell them apart
            unit = float(np.sqrt(highest + slack))
            cost, exact = floor.astype(np.float64) / unit, partial(exact_arcs, sources, targets)
            return _Problem(source_weights, target_weights, cost, unit, exact).plan()
    return solve(source_weights, target_weights, exact_cost(sources, targets))


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    """What POT found: mass (n, m), potentials (n,) and (m,), what they leave unproven, and POT's complaint, if any."""

    distance: float
    mass: NDArray[np.float64]
    u: NDArray[np.float64]
    v: NDArray[np.float64]
    gap: float
    complaint: str | None

    @property
    def proven(self) -> bool:
        """Say whether the potentials prove the optimum."""
        return self.complaint is None and abs(self.gap) <= _GAP

    def plan(self, unit: float) -> Plan:
        """Return the plan in the costs' own unit; TransportError where it is not proven."""
        if not self.proven:
            raise TransportError(f"POT did not reach the optimum: {self.complaint or f'duality gap {self.gap:.3g}'}")
        return Plan(self.distance * unit, self.mass, self.gap * unit)


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """Row sums (n,), column sums (m,) and costs (n, m) from 0 to 1, of which `unit` is one.

    Where `exact` says what arcs cost, `cost` is a floor of it until they are asked for.
    """

    left: NDArray[np.float64]
    right: NDArray[np.float64]
    cost: NDArray[np.float64]
    unit: float
    exact: Callable[..., NDArray[np.float64]] | None = None

    def plan(self) -> Plan:
        """Solve: a large problem over the arcs that matter, if they prove the optimum, and over all arcs otherwise."""
        some = self.solved_over_few_arcs() if self.cost.size >= _WORTH_A_CHOICE and self.cost.any() else None
        if some is None and self.exact is not None:
            rows, columns = np.indices(self.cost.shape)
            self._sharpen((rows.ravel(), columns.ravel()))
        return (some or self.solved()).plan(self.unit)

    def solved_over_few_arcs(self) -> _Solved | None:
        """Solve over the promising arcs, and over those that prove to be missing, until none is; None where POT fails.

        The potentials of a smaller problem prove the optimum of the whole once no arc is cheaper than they allow.
        """
        from moverank.rerank.kernels.arcs import promising_arcs
        from moverank.rerank.kernels.sinkhorn import near_potentials

        u, v = near_potentials(self.cost, self.left, self.right, _STEPS)
        arcs = promising_arcs(self.cost, u, v, self.left, self.right, _ARCS)
        self._sharpen(arcs)
        for _ in range(_ROUNDS):
            found = self.solved(arcs)
            if found.proven:
                return found
            missing = self._missing(found)
            if not len(missing[0]):
                found = replace(found, gap=self._gap(found.distance, found.u, found.v))
                return found if found.proven else None
            arcs = np.append(arcs[0], missing[0]), np.append(arcs[1], missing[1])
        return None

    def solved(self, arcs: Arcs | None = None) -> _Solved:
        """Solve over some arcs, rows and columns, or over all, with their costs as they stand."""
        from scipy.sparse import coo_array

        cost = self.cost if arcs is None else coo_array((self.cost[arcs], arcs), self.cost.shape)
        with _quiet:  # the result code and the gap say what a warning would say, and cannot be overlooked
            moved, log = _pot().emd(
                self.left, self.right, cost, numItermax=_ITERATIONS, log=True, center_dual=False, check_marginals=False
            )
        mass = moved if arcs is None else moved.toarray()
        distance, u, v = float(np.sum(mass * self.cost)), log["u"], log["v"]
        complaint = None if log["result_code"] == 1 else str(log["warning"])
        unmoved = float(np.abs(mass.sum(axis=1) - self.left).sum() + np.abs(mass.sum(axis=0) - self.right).sum())
        if complaint is None and not unmoved <= _GAP:
            complaint = f"{unmoved:.3g} of the mass is not where it has to be"
        return _Solved(distance, mass, u, v, self._gap(distance, u, v), complaint)

    def _sharpen(self, arcs: Arcs) -> None:
        """Put what arcs cost exactly in the place of its floor."""
        if self.exact is not None:
            self.cost[arcs] = self.exact(*arcs) / self.unit

    def _missing(self, found: _Solved) -> Arcs:
        """Return the arcs that are cheaper than potentials allow: by their floors, then by what they cost."""
        from moverank.rerank.kernels.arcs import missing_arcs

        missing: Arcs = missing_arcs(self.cost, found.u, found.v, _FEASIBLE)
        if self.exact is not None and len(missing[0]):
            self._sharpen(missing)
            missing = missing_arcs(self.cost, found.u, found.v, _FEASIBLE)
        return missing

    def _gap(self, distance: float, u: NDArray[np.float64], v: NDArray[np.float64]) -> float:
        """Return the cost less the dual value, the potentials first made feasible by lowering `u` where needed."""
        feasible = np.minimum(u, (self.cost - v).min(axis=1))
        return float(distance - (self.left @ feasible + self.right @ v))


def solve_bags(
    source: Bag, target: Bag, source_vectors: NDArray[np.float32], target_vectors: NDArray[np.float32]
) -> tuple[Plan, Rest]:
    """Solve what is left of two bags, with word vectors (n, d) and (m, d), when shared mass has stayed in place.

    The plan's mass is that of the rests, its distance the Word DistanceRanker's Distance of the bags.
    """
    rest = Rest.of(source, target)
    if not (len(rest.sources) and len(rest.targets)):
        return Plan(0.0, np.zeros((len(rest.sources), len(rest.targets))), 0.0), rest
    # The solver knows masses of about one: a rest of 1e-12 would be nothing to it.
    moving = float(rest.left.sum())
    weights = rest.left / moving, rest.right / rest.right.sum()
    plan = solve_vectors(*weights, source_vectors[rest.sources], target_vectors[rest.targets])
    return Plan(plan.distance * moving, plan.mass * moving, plan.gap * moving), rest
