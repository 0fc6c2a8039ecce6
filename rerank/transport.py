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
# Sinkhorn's potentials as a start save the simplex a fifth of its time, where there is much to do.
_STEPS = 20
_WORTH_A_START = 2000
_one_by_one = Lock()
# The simplex ends at a vertex whose potentials are exact but for rounding; a larger gap means that it did not end.
_GAP = 1e-9


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
    import ot  # 0.8 s: only for who needs an exact distance

    # The solver's tolerance is absolute: costs of 1e-12 would all be the same to it.
    largest = float(cost.max())
    scaled = cost / (largest or 1.0)
    start = _near(scaled, source_weights, target_weights) if largest and cost.size >= _WORTH_A_START else None
    # Filters of warnings belong to the whole process; POT, which keeps Python's lock, is never faster with two threads.
    with _one_by_one, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the result code and the gap say the same, and cannot be overlooked
        choices = {"numItermax": _ITERATIONS, "log": True, "potentials_init": start}
        mass, log = ot.emd(source_weights, target_weights, scaled, **choices)
    distance = float(np.sum(mass * scaled))
    gap = _duality_gap(distance, log["u"], log["v"], source_weights, target_weights, scaled)
    if log["result_code"] != 1 or not gap <= _GAP:
        raise TransportError(f"POT did not reach the optimum: {log['warning'] or f'duality gap {gap:.3g}'}")
    return Plan(distance * largest, mass, gap * largest)


def _near(
    cost: NDArray[np.float64], source_weights: NDArray[np.float64], target_weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return potentials (n,) and (m,) that are near the best."""
    from rerank.kernels.sinkhorn import near_potentials

    u, v = near_potentials(cost, source_weights, target_weights, _STEPS)
    return u, v


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


def _duality_gap(
    distance: float,
    u: NDArray[np.float64],
    v: NDArray[np.float64],
    source_weights: NDArray[np.float64],
    target_weights: NDArray[np.float64],
    cost: NDArray[np.float64],
) -> float:
    """Return the cost less the dual value, the potentials first made feasible by lowering `u` where they are not."""
    feasible = np.minimum(u, (cost - v).min(axis=1))
    return float(distance - (source_weights @ feasible + target_weights @ v))
