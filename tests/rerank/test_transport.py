import math
import warnings
from typing import Any

import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

from rerank import transport
from rerank.bag import Bag
from rerank.cost import exact_cost
from rerank.errors import TransportError
from rerank.transport import Plan, solve
from tests import naive
from tests.rerank.problems import VECTORS, WEIGHTS, Problem, make_bag, make_vectors, make_weights, problems

SEEDS = st.integers(0, 2**32)


def _by_linear_programming(a: NDArray[np.float64], b: NDArray[np.float64], cost: NDArray[np.float64]) -> float:
    n, m = cost.shape
    rows = [[1.0 if i == row else 0.0 for i in range(n) for _ in range(m)] for row in range(n)]
    columns = [[1.0 if j == column else 0.0 for _ in range(n) for j in range(m)] for column in range(m)]
    solved = linprog(cost.ravel(), A_eq=rows + columns, b_eq=[*a, *b])
    assert solved.fun is not None
    return solved.fun


@given(problems())
def test_solve_is_the_whole_problem_s_optimum(problem: Problem) -> None:
    query, vectors = problem.query, problem.vectors
    for bag in problem.bags:
        cost = exact_cost(query.vectors, vectors[bag.words])
        plan = solve(query.bag.weights, bag.weights, cost)
        assert plan.distance == pytest.approx(
            naive.wmd(query.bag, query.vectors, bag, vectors), rel=1e-12, abs=problem.rounding
        )
        assert np.all(plan.mass >= 0)
        assert plan.mass.sum(axis=1) == pytest.approx(query.bag.weights, rel=1e-12, abs=1e-15)
        assert plan.mass.sum(axis=0) == pytest.approx(bag.weights, rel=1e-12, abs=1e-15)
        assert plan.distance == pytest.approx(math.fsum((plan.mass * cost).ravel().tolist()), rel=1e-12)
        assert abs(plan.gap) <= 1e-9 * max(cost.max(), 1e-300)


@given(SEEDS, st.integers(1, 6), st.integers(1, 6), st.sampled_from(["equal", "normal"]))
def test_solve_is_what_a_linear_program_says(seed: int, n: int, m: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    a, b = (Bag.of(np.arange(size), make_weights(rng, size, kind)).weights for size in (n, m))
    cost = rng.uniform(0, 2, (n, m))
    assert solve(a, b, cost).distance == pytest.approx(_by_linear_programming(a, b, cost), abs=1e-7)


@given(SEEDS, st.integers(2, 15), st.integers(1, 6), st.sampled_from(WEIGHTS))
def test_the_distance_is_a_metric(seed: int, v: int, d: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    vectors = make_vectors(rng, v, d, "normal", 1.0)
    bags = [make_bag(rng, v, kind, 8) for _ in range(3)]
    costs = exact_cost(vectors, vectors)

    def distance(i: int, j: int) -> float:
        return solve(bags[i].weights, bags[j].weights, costs[np.ix_(bags[i].words, bags[j].words)]).distance

    rounding = 1e-13 * costs.max()
    nearest = costs[costs > 0].min()
    for i, j in [(0, 1), (1, 2), (0, 2)]:
        assert distance(i, i) == 0
        assert distance(i, j) == pytest.approx(distance(j, i), rel=1e-12, abs=rounding)
        # Different bags are apart: the mass that differs has to move at least to the nearest other word.
        dense = np.zeros((2, v))
        dense[0, bags[i].words], dense[1, bags[j].words] = bags[i].weights, bags[j].weights
        assert distance(i, j) >= nearest * np.abs(dense[0] - dense[1]).sum() / 2 - rounding
    assert distance(0, 2) <= distance(0, 1) + distance(1, 2) + rounding


@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_bags_of_500_words_are_solved(kind: str, weights: str) -> None:
    rng = np.random.default_rng(5)
    vectors = make_vectors(rng, 900, 30, kind, 1.0)
    one, other = (
        Bag.of(rng.choice(900, 500, replace=False).astype(np.int32), make_weights(rng, 500, weights)) for _ in range(2)
    )
    plan = solve(one.weights, other.weights, exact_cost(vectors[one.words], vectors[other.words]))
    # The rows' and columns' minima are below, moving everything independently is above.
    cost = exact_cost(vectors[one.words], vectors[other.words])
    relaxed = max(one.weights @ cost.min(axis=1), other.weights @ cost.min(axis=0))
    assert relaxed - 1e-12 <= plan.distance <= one.weights @ cost @ other.weights + 1e-12


def test_problems_of_no_cost_cost_nothing() -> None:
    half = np.array([0.5, 0.5])
    assert solve(half, half, np.zeros((2, 2))).distance == 0
    assert solve(np.ones(1), np.ones(1), np.array([[0.25]])).distance == 0.25


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e-8, 1e-6, 1.0, 1e6, 1e300])
def test_the_unit_of_the_cost_does_not_matter(scale: float) -> None:
    a, b, cost = _big()
    assert solve(a, b, cost * scale).distance == pytest.approx(solve(a, b, cost).distance * scale, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e-8, 1e-6])
def test_a_tiny_unit_of_the_cost_does_not_matter_either(scale: float) -> None:
    a, b, cost = _big()
    assert solve(a, b, cost * scale).distance == pytest.approx(solve(a, b, cost).distance * scale, rel=1e-9)


def _big() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(8)
    return np.full(40, 1 / 40), np.full(50, 1 / 50), rng.uniform(0, 1, (40, 50))


def test_a_solver_that_is_stopped_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = _big()
    assert solve(*problem).distance > 0
    monkeypatch.setattr(transport, "_ITERATIONS", 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TransportError, match="did not reach the optimum"):
            solve(*problem)


Log = dict[str, Any]


def _worse_plan(mass: NDArray[np.float64], log: Log) -> tuple[NDArray[np.float64], Log]:
    return np.full_like(mass, 1 / mass.size), log


def _worse_potentials(mass: NDArray[np.float64], log: Log) -> tuple[NDArray[np.float64], Log]:
    return mass, {**log, "u": log["u"] - 1e-6}


def _no_numbers(mass: NDArray[np.float64], log: Log) -> tuple[NDArray[np.float64], Log]:
    return mass, {**log, "v": log["v"] * np.nan}


def _bad_code(mass: NDArray[np.float64], log: Log) -> tuple[NDArray[np.float64], Log]:
    return mass, {**log, "result_code": 3, "warning": "numItermax reached"}


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_worse_plan, "duality gap"),
        (_worse_potentials, "duality gap"),
        (_no_numbers, "duality gap nan"),
        (_bad_code, "numItermax reached"),
    ],
)
def test_what_the_potentials_do_not_prove_is_an_error(monkeypatch: pytest.MonkeyPatch, spoil: Any, reason: str) -> None:
    emd = ot.emd
    monkeypatch.setattr(ot, "emd", lambda *args, **options: spoil(*emd(*args, **options)))
    with pytest.raises(TransportError, match=reason):
        solve(*_big())


def test_potentials_that_are_not_feasible_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # Raised potentials would give a dual value above the optimum: they have to be brought down first.
    emd = ot.emd

    def raised(*args: Any, **options: Any) -> Any:
        mass, log = emd(*args, **options)
        return np.full_like(mass, 1 / mass.size), {**log, "u": log["u"] + 10}

    monkeypatch.setattr(ot, "emd", raised)
    with pytest.raises(TransportError, match="duality gap"):
        solve(*_big())


def test_a_plan_is_frozen() -> None:
    plan: Plan = solve(np.ones(1), np.ones(1), np.ones((1, 1)))
    with pytest.raises(AttributeError):
        plan.distance = 0.0  # type: ignore[misc]  # it is what must not work


@pytest.mark.parametrize("kind", ["normal", "lattice", "twins", "equal", "offset"])
def test_large_problems_begin_near_their_end(kind: str) -> None:
    rng = np.random.default_rng(9)
    vectors = make_vectors(rng, 220, 6, kind, 1.0)
    for weights in ("equal", "normal", "orders"):
        sources, targets = make_weights(rng, 90, weights), make_weights(rng, 130, weights)
        sources, targets = sources / sources.sum(), targets / targets.sum()
        cost = exact_cost(vectors[:90], vectors[90:])
        assert cost.size >= transport._WORTH_A_START  # noqa: SLF001 - the test is about what is above it
        plan = solve(sources, targets, cost)
        assert plan.distance == pytest.approx(ot.emd2(sources, targets, cost, numItermax=10**7), rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(plan.mass.sum(axis=1), sources, atol=1e-12)
