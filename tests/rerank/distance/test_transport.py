import math
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from threading import Barrier
from typing import Any

import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

from moverank.rerank import kernels
from moverank.rerank.bags.bag import Bag
from moverank.rerank.distance import network_simplex as pot
from moverank.rerank.distance import transport
from moverank.rerank.distance.ground_cost import exact_cost
from moverank.rerank.distance.network_simplex import Arcs, Vertex, network_simplex
from moverank.rerank.distance.transport import Plan, solve, solve_vectors
from moverank.rerank.errors import OutOfTime, TransportError
from moverank.rerank.kernels.arcs import missing_arcs, promising_arcs
from moverank.rerank.kernels.costs import exact_arcs
from moverank.rerank.runtime.deadline import stopping
from tests import naive
from tests.rerank.problems import VECTORS, WEIGHTS, Problem, make_bag, make_vectors, make_weights, problems
from tests.rerank.stops import StopAfter
from tests.waiting import HUNG

SEEDS = st.integers(0, 2**32)


def _by_linear_programming(a: NDArray[np.float64], b: NDArray[np.float64], cost: NDArray[np.float64]) -> float:
    n, m = cost.shape
    rows = [[1.0 if i == row else 0.0 for i in range(n) for _ in range(m)] for row in range(n)]
    columns = [[1.0 if j == column else 0.0 for _ in range(n) for j in range(m)] for column in range(m)]
    solved = linprog(cost.ravel(), A_eq=rows + columns, b_eq=[*a, *b])
    assert solved.fun is not None
    return solved.fun


@given(problems())
def test_solve_returns_the_optimum(problem: Problem) -> None:
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
        u = (cost - plan.v).min(axis=1)
        dual = math.fsum((query.bag.weights * u).tolist()) + math.fsum((bag.weights * plan.v).tolist())
        assert dual == pytest.approx(plan.distance, rel=1e-9, abs=1e-9 * max(cost.max(), 1e-300))


@given(SEEDS, st.integers(1, 6), st.integers(1, 6), st.sampled_from(["equal", "normal"]))
def test_solve_equals_linear_programming(seed: int, n: int, m: int, kind: str) -> None:
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
        # Different bags have a distance: the mass that differs moves at least to the nearest other word.
        dense = np.zeros((2, v))
        dense[0, bags[i].words], dense[1, bags[j].words] = bags[i].weights, bags[j].weights
        assert distance(i, j) >= nearest * np.abs(dense[0] - dense[1]).sum() / 2 - rounding
    assert distance(0, 2) <= distance(0, 1) + distance(1, 2) + rounding


@pytest.mark.slow
@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_bags_of_500_words_are_solved(kind: str, weights: str) -> None:
    rng = np.random.default_rng(5)
    vectors = make_vectors(rng, 900, 30, kind, 1.0)
    one, other = (
        Bag.of(rng.choice(900, 500, replace=False).astype(np.int32), make_weights(rng, 500, weights)) for _ in range(2)
    )
    plan = solve(one.weights, other.weights, exact_cost(vectors[one.words], vectors[other.words]))
    # The minima of rows and columns are a lower bound, the product plan an upper bound.
    cost = exact_cost(vectors[one.words], vectors[other.words])
    relaxed = max(one.weights @ cost.min(axis=1), other.weights @ cost.min(axis=0))
    assert relaxed - 1e-12 <= plan.distance <= one.weights @ cost @ other.weights + 1e-12


def test_costs_of_zero_and_problems_of_one_word() -> None:
    half = np.array([0.5, 0.5])
    assert solve(half, half, np.zeros((2, 2))).distance == 0
    assert solve(np.ones(1), np.ones(1), np.array([[0.25]])).distance == 0.25


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e-8, 1e-6, 1.0, 1e6, 1e300])
def test_the_unit_of_the_cost_does_not_matter(scale: float) -> None:
    a, b, cost = _big()
    assert solve(a, b, cost * scale).distance == pytest.approx(solve(a, b, cost).distance * scale, rel=1e-9)


def _big() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(8)
    return np.full(40, 1 / 40), np.full(50, 1 / 50), rng.uniform(0, 1, (40, 50))


def test_a_solver_stopped_by_its_iteration_limit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = _big()
    assert solve(*problem).distance > 0
    monkeypatch.setattr(transport, "_MAX_ITERATIONS", 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TransportError, match="did not reach the optimum"):
            solve(*problem)


def test_problems_are_solved_concurrently_without_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pot.compiled_solver() is not None
    both, by_solver = Barrier(2, timeout=HUNG), pot._by_solver  # noqa: SLF001 - what runs without warnings

    def by_solver_of_two(*args: Any) -> Vertex:
        both.wait()  # the barrier breaks unless both threads are inside the solver at the same time
        found = by_solver(*args)
        warnings.warn("must be ignored", stacklevel=1)
        return found

    monkeypatch.setattr(pot, "_by_solver", by_solver_of_two)
    problem = np.array([0.2, 0.8]), np.array([0.5, 0.5]), np.array([[0.0, 1.0], [1.0, 0.0]])
    with warnings.catch_warnings(), ThreadPoolExecutor(2) as pool:
        warnings.simplefilter("error")
        before = list(warnings.filters)
        solved = list(pool.map(lambda _: solve(*problem), range(8)))
        assert list(warnings.filters) == before
    assert [plan.distance for plan in solved] == [pytest.approx(0.3)] * 8


def _worse_plan(found: Vertex) -> Vertex:
    return replace(found, mass=np.full_like(found.mass, 1 / found.mass.size))


def _no_plan(found: Vertex) -> Vertex:
    return replace(found, mass=np.zeros_like(found.mass))


def _worse_potentials(found: Vertex) -> Vertex:
    return replace(found, u=found.u - 1e-6)


def _no_numbers(found: Vertex) -> Vertex:
    return replace(found, v=found.v * np.nan)


def _bad_code(found: Vertex) -> Vertex:
    return replace(found, failure="numItermax reached")


@pytest.mark.parametrize(
    ("corrupt", "reason"),
    [
        (_worse_plan, "duality gap"),
        (_no_plan, "sums of the plan are off by 2"),
        (_worse_potentials, "duality gap"),
        (_no_numbers, "duality gap nan"),
        (_bad_code, "numItermax reached"),
    ],
)
def test_an_unproven_optimum_is_an_error(
    monkeypatch: pytest.MonkeyPatch, corrupt: Callable[[Vertex], Vertex], reason: str
) -> None:
    _corrupt(monkeypatch, corrupt)
    with pytest.raises(TransportError, match=reason):
        solve(*_big())


def _corrupt(monkeypatch: pytest.MonkeyPatch, corrupt: Callable[[Vertex], Vertex]) -> None:
    """Corrupt the solver's results, for whole problems and for those over few arcs."""
    monkeypatch.setattr(transport, "network_simplex", lambda *args: corrupt(network_simplex(*args)))


def test_infeasible_potentials_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # Raised potentials would give a dual value above the optimum: they must be made feasible first.
    _corrupt(monkeypatch, lambda found: replace(_worse_plan(found), u=found.u + 10))
    with pytest.raises(TransportError, match="duality gap"):
        solve(*_big())


def test_a_plan_is_frozen() -> None:
    plan: Plan = solve(np.ones(1), np.ones(1), np.ones((1, 1)))
    with pytest.raises(AttributeError):
        plan.distance = 0.0  # type: ignore[misc]  # the assignment must fail


@pytest.mark.parametrize("kind", ["normal", "lattice", "twins", "equal", "offset"])
def test_large_problems_are_solved_over_few_arcs(kind: str) -> None:
    rng = np.random.default_rng(9)
    vectors = make_vectors(rng, 220, 6, kind, 1.0)
    for weights in ("equal", "normal", "orders"):
        sources, targets = make_weights(rng, 90, weights), make_weights(rng, 130, weights)
        sources, targets = sources / sources.sum(), targets / targets.sum()
        cost = exact_cost(vectors[:90], vectors[90:])
        assert cost.size >= transport._LARGE_PROBLEM  # noqa: SLF001 - the test is about problems of at least this size
        plan = solve(sources, targets, cost)
        assert plan.distance == pytest.approx(ot.emd2(sources, targets, cost, numItermax=10**7), rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(plan.mass.sum(axis=1), sources, atol=1e-12)


@pytest.mark.parametrize("kind", ["normal", "lattice", "twins", "equal", "offset"])
@pytest.mark.parametrize("count", [1, 10])
def test_costs_computed_on_demand_give_the_same_distance(
    monkeypatch: pytest.MonkeyPatch, kind: str, count: int
) -> None:
    monkeypatch.setattr(transport, "_ARCS_PER_WORD", count)
    rng = np.random.default_rng(9)
    vectors = make_vectors(rng, 220, 6, kind, 1.0)
    ours, theirs = vectors[:90], vectors[90:]
    for weights in ("equal", "normal", "orders"):
        sources, targets = make_weights(rng, 90, weights), make_weights(rng, 130, weights)
        sources, targets = sources / sources.sum(), targets / targets.sum()
        cost = exact_cost(ours, theirs)
        plan = solve_vectors(sources, targets, ours, theirs)
        assert plan.distance == pytest.approx(ot.emd2(sources, targets, cost, numItermax=10**7), rel=1e-9, abs=1e-12)
        assert plan.distance == pytest.approx(math.fsum((plan.mass * cost).ravel().tolist()), rel=1e-12, abs=1e-15)
        assert abs(plan.gap) <= 1e-9 * max(cost.max(), 1e-300)
        np.testing.assert_allclose(plan.mass.sum(axis=1), sources, atol=1e-12)
        np.testing.assert_allclose(plan.mass.sum(axis=0), targets, atol=1e-12)


@pytest.mark.parametrize(("kind", "share"), [("normal", 0.5), ("unit", 0.5), ("equal", 1), ("close", 1)])
def test_most_exact_costs_of_a_large_problem_are_never_computed(
    monkeypatch: pytest.MonkeyPatch, kind: str, share: float
) -> None:
    computed = []

    def counted_whole(*args: Any) -> Any:
        cost = exact_cost(*args)
        computed.append(cost.size)
        return cost

    def counted_arcs(*args: Any) -> Any:
        computed.append(len(args[2]))
        return exact_arcs(*args)

    monkeypatch.setattr(transport, "exact_cost", counted_whole)
    monkeypatch.setattr(kernels, "exact_arcs", counted_arcs)
    rng = np.random.default_rng(12)
    vectors = rng.normal(size=(150, 20)).astype(np.float32)
    if kind == "unit":  # as from sentence encoders: float32 products of many terms are less accurate
        vectors = rng.normal(size=(150, 1024)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    if kind == "equal":
        vectors[:] = vectors[0]
    if kind == "close":  # so near to each other that float32 products cannot distinguish them
        vectors = (100 + 1e-3 * vectors).astype(np.float32)
    sources, targets = rng.dirichlet(np.ones(60)), rng.dirichlet(np.ones(90))
    plan = solve_vectors(sources, targets, vectors[:60], vectors[60:])
    expected = _by_linear_programming(sources, targets, exact_cost(vectors[:60], vectors[60:]))
    assert plan.distance == pytest.approx(expected, rel=1e-7, abs=1e-12)
    assert 0 < sum(computed) <= share * 60 * 90


def test_a_failure_over_few_arcs_with_cost_floors_falls_back_to_all_arcs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(13)
    vectors, masses = rng.normal(size=(150, 20)).astype(np.float32), rng.dirichlet(np.ones(60))
    targets = rng.dirichlet(np.ones(90))
    expected = solve_vectors(masses, targets, vectors[:60], vectors[60:]).distance
    monkeypatch.setattr(transport, "network_simplex", _failing_over_few_arcs)
    assert solve_vectors(masses, targets, vectors[:60], vectors[60:]).distance == pytest.approx(expected, rel=1e-12)


def test_wrong_marginals_are_detected_though_the_cost_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    # All costs are equal: mass moved to the wrong column costs the same.
    _corrupt(monkeypatch, lambda found: replace(found, mass=np.roll(found.mass, 1, axis=0)))
    with pytest.raises(TransportError, match="sums of the plan are off"):
        solve(np.array([0.2, 0.8]), np.array([0.5, 0.5]), np.ones((2, 2)))


@pytest.mark.parametrize("count", [1, 2, 10])
def test_missing_arcs_are_added(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(transport, "_ARCS_PER_WORD", count)
    rng = np.random.default_rng(10)
    sources, targets = rng.dirichlet(np.ones(60)), rng.dirichlet(np.ones(90))
    calls = []

    def counted(*args: Any) -> Vertex:
        calls.append(args[3] is not None)
        return network_simplex(*args)

    monkeypatch.setattr(transport, "network_simplex", counted)
    for cost in (rng.uniform(0, 1, (60, 90)), exact_cost(*np.split(make_vectors(rng, 150, 20, "normal", 1.0), [60]))):
        calls.clear()
        plan = solve(sources, targets, cost)
        assert plan.distance == pytest.approx(_by_linear_programming(sources, targets, cost), rel=1e-9)
        assert calls[0]
        # With one arc for each word, the first problem cannot contain the optimum.
        assert len(calls) > 1 or count > 1
        np.testing.assert_allclose(plan.mass.sum(axis=1), sources, atol=1e-12)
        np.testing.assert_allclose(plan.mass.sum(axis=0), targets, atol=1e-12)


def test_a_failure_over_few_arcs_falls_back_to_all_arcs(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = _big()
    expected = solve(*problem).distance
    monkeypatch.setattr(transport, "network_simplex", _failing_over_few_arcs)
    assert solve(*problem).distance == pytest.approx(expected, rel=1e-12)


def _failing_over_few_arcs(a: Any, b: Any, cost: Any, arcs: Arcs | None, limit: int) -> Vertex:
    found = network_simplex(a, b, cost, arcs, limit)
    return found if arcs is None else replace(found, failure="numItermax reached")


def test_few_arcs_can_always_move_all_mass() -> None:
    rng = np.random.default_rng(11)
    for n, m in ((1, 5), (5, 1), (3, 8), (8, 3), (6, 6)):
        left, right = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))
        # Potentials that favour one corner: without the staircase, no arc would lead out of the other rows.
        rows, columns = promising_arcs(rng.uniform(0, 1, (n, m)), np.zeros(n), np.linspace(0, 5, m), left, right, 1)
        cost = np.full((n, m), 100.0)
        cost[rows, columns] = 1.0
        assert ot.emd2(left, right, cost) == pytest.approx(1.0)


def test_promising_arcs_are_those_of_least_reduced_cost() -> None:
    rng = np.random.default_rng(12)
    cost, u, v = rng.uniform(0, 1, (30, 40)), rng.uniform(0, 1, 30), rng.uniform(0, 1, 40)
    reduced = cost - u[:, None] - v
    left, right = np.full(30, 1 / 30), np.full(40, 1 / 40)
    chosen = np.zeros((30, 40), bool)
    chosen[promising_arcs(cost, u, v, left, right, 4)] = True
    expected = (reduced <= np.sort(reduced, axis=1)[:, 3:4]) | (reduced <= np.sort(reduced, axis=0)[3])
    assert np.all(chosen[expected])
    assert chosen.sum() - expected.sum() <= 30 + 40
    missing = np.zeros((30, 40), bool)
    missing[missing_arcs(cost, u, v, 1e-12)] = True
    np.testing.assert_array_equal(missing, reduced < -1e-12)


@pytest.mark.parametrize(("n", "polls"), [(30, 0), (1100, 0), (1100, 2), (1100, 100)])
def test_a_long_problem_ends_when_the_time_is_used_up_and_a_short_one_is_solved(n: int, polls: int) -> None:
    rng = np.random.default_rng(n)
    weights, vectors = np.full(n, 1 / n), rng.standard_normal((n, 8)).astype(np.float32)
    others = rng.standard_normal((n, 8)).astype(np.float32)
    with stopping(StopAfter(polls)), pytest.raises(OutOfTime) if n > 100 > polls else nullcontext():
        found = solve_vectors(weights, weights, vectors, others)
        assert found.distance == pytest.approx(solve(weights, weights, exact_cost(vectors, others)).distance)


@pytest.mark.parametrize("rounds", [1, 2])
def test_the_time_is_checked_before_each_solution_of_a_problem_of_many_rows(
    monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    """16,000 words against 50 have less than 2**20 cells, but each of three solutions took .8 seconds."""
    i = np.arange(9000)
    vectors = np.stack([i % 97, i % 89, i % 83, i / 9000], axis=1).astype(np.float32)
    begun = [0]

    def counted(*problem: Any) -> Any:
        begun[0] += 1
        return network_simplex(*problem)

    monkeypatch.setattr(transport, "network_simplex", counted)
    weights = np.full(8950, 1 / 8950), np.full(50, 1 / 50)
    with stopping(lambda: begun[0] == rounds), pytest.raises(OutOfTime):
        solve_vectors(*weights, vectors[50:], vectors[:50])
    assert begun[0] == rounds


def test_a_long_problem_that_needs_more_iterations_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    weights, vectors = np.full(60, 1 / 60), rng.standard_normal((120, 8)).astype(np.float32)
    found = solve_vectors(weights, weights, vectors[:60], vectors[60:])
    monkeypatch.setattr(transport, "_LONG_PROBLEM", 1)
    monkeypatch.setattr(transport, "_FIRST_ITERATIONS", 1)
    again = solve_vectors(weights, weights, vectors[:60], vectors[60:])
    assert again.distance == found.distance
    assert np.array_equal(again.mass, found.mass)
