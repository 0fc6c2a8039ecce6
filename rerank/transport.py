"""The exact transport problem, solved by POT's network simplex: the only module that imports POT."""

import warnings
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from rerank.bag import Bag, Rest
from rerank.cost import exact_cost
from rerank.errors import TransportError

_ITERATIONS = 10_000_000
# Where there is much to do, Sinkhorn's potentials tell which arcs matter: the simplex is much faster over these alone.
_STEPS = 15
_WORTH_A_CHOICE = 2000
_ARCS = 10  # of each word, to begin with
_ROUNDS = 6
_FEASIBLE = 1e-12
_one_by_one = Lock()
# The simplex ends at a vertex whose potentials are exact but for rounding: a larger gap means that it did not end, and
# one below zero that mass is missing from the plan.
_GAP = 1e-9

Arcs = tuple[NDArray[np.int64], NDArray[np.int64]]


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
    largest = float(cost.max())
    problem = _Problem(source_weights, target_weights, cost / (largest or 1.0))
    some = problem.solved_over_few_arcs() if largest and cost.size >= _WORTH_A_CHOICE else None
    found = some or problem.solved()
    if found.failed is not None:
        raise TransportError(f"POT did not reach the optimum: {found.failed}")
    return Plan(found.distance * largest, found.mass, found.gap * largest)


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    """What POT found: mass (n, m), potentials (n,) and (m,), what they prove, and what is wrong, None where nothing."""

    distance: float
    mass: NDArray[np.float64]
    u: NDArray[np.float64]
    v: NDArray[np.float64]
    gap: float
    failed: str | None


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """Row sums (n,), column sums (m,) and costs (n, m) from 0 to 1."""

    left: NDArray[np.float64]
    right: NDArray[np.float64]
    cost: NDArray[np.float64]

    def solved_over_few_arcs(self) -> _Solved | None:
        """Solve over the promising arcs, and over those that prove to be missing, until none is; None where POT fails.

        The potentials of a smaller problem prove the optimum of the whole once no arc is cheaper than they allow.
        """
        from rerank.kernels.arcs import missing_arcs, promising_arcs
        from rerank.kernels.sinkhorn import near_potentials

        u, v = near_potentials(self.cost, self.left, self.right, _STEPS)
        arcs = promising_arcs(self.cost, u, v, self.left, self.right, _ARCS)
        for _ in range(_ROUNDS):
            found = self.solved(arcs)
            if found.failed is None:
                return found
            missing = missing_arcs(self.cost, found.u, found.v, _FEASIBLE)
            if not len(missing[0]):
                break
            arcs = np.append(arcs[0], missing[0]), np.append(arcs[1], missing[1])
        return None

    def solved(self, arcs: Arcs | None = None) -> _Solved:
        """Solve over some arcs, rows and columns, or over all."""
        import ot  # 0.8 s: only for who needs an exact distance
        from scipy.sparse import coo_array

        cost = self.cost if arcs is None else coo_array((self.cost[arcs], arcs), self.cost.shape)
        # Filters of warnings belong to the whole process; POT, which keeps Python's lock, gains nothing by two threads.
        with _one_by_one, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the result code and the gap say the same, and cannot be overlooked
            moved, log = ot.emd(
                self.left, self.right, cost, numItermax=_ITERATIONS, log=True, center_dual=False, check_marginals=False
            )
        mass = moved if arcs is None else moved.toarray()
        distance = float(np.sum(mass * self.cost))
        gap = self._gap(distance, log["u"], log["v"])
        failed = None if log["result_code"] == 1 and abs(gap) <= _GAP else log["warning"] or f"duality gap {gap:.3g}"
        return _Solved(distance, mass, log["u"], log["v"], gap, failed)

    def _gap(self, distance: float, u: NDArray[np.float64], v: NDArray[np.float64]) -> float:
        """Return the cost less the dual value, the potentials first made feasible by lowering `u` where needed."""
        feasible = np.minimum(u, (self.cost - v).min(axis=1))
        return float(distance - (self.left @ feasible + self.right @ v))


def solve_bags(
    source: Bag, target: Bag, source_vectors: NDArray[np.float32], target_vectors: NDArray[np.float32]
) -> tuple[Plan, Rest]:
    """Solve what is left of two bags, with word vectors (n, d) and (m, d), when shared mass has stayed in place.

    The plan's mass is that of the rests, its distance the Word Mover's Distance of the bags.
    """
    rest = Rest.of(source, target)
    if not (len(rest.sources) and len(rest.targets)):
        return Plan(0.0, np.zeros((len(rest.sources), len(rest.targets))), 0.0), rest
    # The solver knows masses of about one: a rest of 1e-12 would be nothing to it.
    moving = float(rest.left.sum())
    cost = exact_cost(source_vectors[rest.sources], target_vectors[rest.targets])
    plan = solve(rest.left / moving, rest.right / rest.right.sum(), cost)
    return Plan(plan.distance * moving, plan.mass * moving, plan.gap * moving), rest
