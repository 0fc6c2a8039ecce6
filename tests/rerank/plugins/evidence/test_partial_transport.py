"""Partial transport against linear programs: the most mass by one, the least cost of that mass by another."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from moverank.rerank.distance.network_simplex import Vertex, network_simplex
from moverank.rerank.errors import TransportError
from moverank.rerank.plugins.evidence import partial_transport
from moverank.rerank.plugins.evidence.partial_transport import PartialPlan, solve_partial

_Drawn = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


@st.composite
def _problems(draw: st.DrawFn) -> _Drawn:
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    every = [(i, j) for i in range(n) for j in range(m)]
    arcs = sorted(draw(st.sets(st.sampled_from(every))))
    costs = draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 1 / 3]), min_size=len(arcs), max_size=len(arcs)))
    masses = [draw(st.lists(st.integers(1, 4), min_size=size, max_size=size)) for size in (n, m)]
    return np.array(masses[0]), np.array(masses[1]), np.array(arcs, np.int64).reshape(-1, 2), np.array(costs, float)


def _value(solved: Any) -> float:
    assert solved.fun is not None
    return float(solved.fun)


def _by_linear_programs(
    a: NDArray[np.int64], b: NDArray[np.int64], arcs: NDArray[np.int64], cost: NDArray[np.float64]
) -> tuple[float, float]:
    if not len(arcs):
        return 0.0, 0.0
    limits = np.array([[float(i == row) for i, _ in arcs] for row in range(len(a))])
    limits = np.concatenate([limits, [[float(j == column) for _, j in arcs] for column in range(len(b))]])
    sums = np.concatenate([a, b])
    most = -_value(linprog(-np.ones(len(arcs)), A_ub=limits, b_ub=sums))
    least = linprog(cost, A_ub=limits, b_ub=sums, A_eq=np.ones((1, len(arcs))), b_eq=[most])
    return most, _value(least)


def _check_plan(
    plan: PartialPlan, a: NDArray[np.int64], b: NDArray[np.int64], arcs: NDArray[np.int64], cost: NDArray[np.float64]
) -> None:
    assert np.all(plan.mass > 0)
    assert np.all(np.bincount(arcs[plan.arcs, 0], plan.mass, len(a)) <= a)
    assert np.all(np.bincount(arcs[plan.arcs, 1], plan.mass, len(b)) <= b)
    assert plan.cost == pytest.approx(float(plan.mass @ cost[plan.arcs]))


@pytest.mark.parametrize("whole", [0, 2**16])
@given(_problems())
def test_it_moves_the_most_at_the_least_cost(whole: int, problem: _Drawn) -> None:
    a, b, arcs, cost = problem
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(partial_transport, "_LARGEST_WHOLE", whole)
        plan = solve_partial(a, b, (arcs[:, 0], arcs[:, 1]), cost)
    most, least = _by_linear_programs(a, b, arcs, cost)
    assert plan.moved == pytest.approx(most)
    assert plan.cost == pytest.approx(least, abs=1e-7)
    assert plan.certified
    assert plan.bound == plan.moved
    _check_plan(plan, a, b, arcs, cost)


@pytest.mark.parametrize("seed", range(5))
def test_units_of_one_each_are_a_matching(seed: int) -> None:
    rng = np.random.default_rng(seed)
    allowed = rng.random((60, 50)) < 0.03
    rows, columns = np.nonzero(allowed)
    plan = solve_partial(np.ones(60, np.int64), np.ones(50, np.int64), (rows, columns), rng.random(len(rows)))
    matched = maximum_bipartite_matching(csr_array(allowed.astype(int)), perm_type="column")
    assert plan.moved == int((matched >= 0).sum())
    assert plan.certified


def test_coverage_is_before_cost() -> None:
    """Two words that only a chain of dearer moves covers: the cheapest move alone would cover one."""
    arcs = np.array([0, 0, 1]), np.array([0, 1, 0])
    plan = solve_partial(np.array([1, 1]), np.array([1, 1]), arcs, np.array([0.0, 0.8, 0.8]))
    assert (plan.moved, plan.cost) == (2, 1.6)


def test_nothing_allowed_moves_nothing() -> None:
    nothing = np.empty(0, np.int64)
    plan = solve_partial(np.array([1]), np.array([1]), (nothing, nothing), np.empty(0))
    assert (plan.moved, plan.bound, plan.cost, plan.certified) == (0, 0, 0.0, True)


def test_a_plan_that_is_not_the_best_is_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    def worse(*arguments: Any) -> Vertex:
        """Keep all mass: it goes to the last column, from the last row."""
        row_sums, _, cost, *_ = arguments
        found = network_simplex(*arguments)
        if cost.max() == 1 and len(row_sums) == 3:  # the first problem
            mass = np.zeros(cost.shape)
            mass[0, 0], mass[1, 2], mass[2, 1], mass[2, 2] = 1, 1, 1, 1
            return Vertex(mass, found.u, found.v, None)
        return found

    arcs = np.array([0, 0, 1]), np.array([0, 1, 0])
    monkeypatch.setattr(partial_transport, "network_simplex", worse)
    plan = solve_partial(np.array([1, 1]), np.array([1, 1]), arcs, np.zeros(3))
    assert plan.moved == 1
    assert plan.bound > 1
    assert not plan.certified


def test_a_failure_of_pot_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: object) -> Vertex:
        found = network_simplex(*arguments)  # type: ignore[arg-type]
        return Vertex(found.mass * 0.5, found.u, found.v, None)

    monkeypatch.setattr(partial_transport, "network_simplex", failing)
    with pytest.raises(TransportError, match="did not reach the optimum"):
        solve_partial(np.array([1]), np.array([1]), (np.array([0]), np.array([0])), np.array([0.5]))


def test_potentials_that_prove_nothing_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def dear(*arguments: object) -> Vertex:
        found = network_simplex(*arguments)  # type: ignore[arg-type]
        return Vertex(found.mass, found.u - 1.0, found.v, None)

    monkeypatch.setattr(partial_transport, "network_simplex", dear)
    with pytest.raises(TransportError, match="duality gap"):
        solve_partial(np.array([1]), np.array([1]), (np.array([0]), np.array([0])), np.array([0.5]))
