import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance import bounds
from moverank.rerank.distance.bounds import query_cost, wcd, wcd_from_squares
from moverank.rerank.distance.cascade import QUANTISED_BYTES
from moverank.rerank.distance.ground_cost import cost_floor, vector_norms
from moverank.rerank.distance.quantised_cost import QuantisedCost
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.encoders.centroid import centroids
from tests import naive
from tests.rerank.problems import Problem, make_bag, make_vectors, problems, rwmd


def _rwmd(problem: Problem) -> list[float]:
    query = problem.query
    cost = query_cost(query, problem.vectors)
    lower: list[float] = rwmd(problem.packed, cost, query.bag).tolist()
    return lower


def _wcd(problem: Problem) -> list[float]:
    query = problem.query
    lower: list[float] = wcd(centroids(problem.packed, problem.vectors), query.centroid()).tolist()
    return lower


def _check_not_above(problem: Problem) -> None:
    query, vectors = problem.query, problem.vectors
    for bag, relaxed, centroid_bound in zip(problem.bags, _rwmd(problem), _wcd(problem), strict=True):
        exact_rwmd = naive.rwmd(query.bag, query.vectors, bag, vectors)
        whole = naive.wmd(query.bag, query.vectors, bag, vectors)
        assert 0 <= relaxed <= exact_rwmd <= whole + problem.rounding
        assert 0 <= centroid_bound <= naive.wcd(query.bag, query.vectors, bag, vectors) <= whole + problem.rounding


def _dual_and_sinkhorn(
    problem: Problem, *, fine: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the larger of the two one-pass duals, and both of Sinkhorn's bounds, of every bag."""
    bound_problem = bounds.Problem.of(problem.query, problem.packed, problem.vectors)
    rows = np.arange(len(problem.bags))
    dual, quantised = bounds.one_pass_dual(bound_problem, rows), _quantised_dual(problem)
    return np.maximum(dual, quantised), *bounds.sinkhorn(bound_problem, rows, fine=fine)


def _quantised_dual(problem: Problem, threshold: float = np.inf) -> NDArray[np.float64]:
    """Return the one-pass dual of every bag over quantised costs."""
    cost = QuantisedCost.of(problem.query, problem.vectors, vector_norms(problem.vectors), QUANTISED_BYTES)
    return bounds.quantised_dual(cost, problem.query.bag, problem.packed, np.arange(len(problem.bags)), threshold)


@given(problems())
def test_no_bound_is_above_the_exact_distance(problem: Problem) -> None:
    _check_not_above(problem)


@given(problems(), st.booleans())
def test_dual_bounds_and_the_plan_s_cost_enclose_the_exact_distance(problem: Problem, fine: bool) -> None:
    query = problem.query
    for dual, lower, upper, bag in zip(*_dual_and_sinkhorn(problem, fine=fine), problem.bags, strict=True):
        whole = naive.wmd(query.bag, query.vectors, bag, problem.vectors)
        assert dual <= whole + problem.rounding
        assert lower <= whole + problem.rounding
        assert upper >= whole - problem.rounding


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["equal", "normal", "orders"])
def test_no_bound_is_above_for_bags_of_500_words(kind: str) -> None:
    rng = np.random.default_rng(500)
    vectors = make_vectors(rng, 700, 20, "normal", 1.0)
    query = Bag.of(np.arange(500), np.ones(500))
    other = Bag.of(np.arange(200, 700), 10.0 ** rng.uniform(-12, 0, 500) if kind == "orders" else rng.random(500))
    problem = Problem(QueryBag(query, vectors[:500]), [other, query, make_bag(rng, 700, kind, 700)], vectors)
    _check_not_above(problem)
    whole = np.array([naive.wmd(query, vectors[:500], bag, vectors) for bag in problem.bags])
    dual, lower, upper = _dual_and_sinkhorn(problem)
    assert np.all(np.maximum(dual, lower) <= whole)
    assert np.all(upper >= whole)


@pytest.mark.slow
@pytest.mark.parametrize("dim", [50, 200])
def test_bounds_are_tight_for_ordinary_vectors(dim: int) -> None:
    rng = np.random.default_rng(dim)
    vectors = make_vectors(rng, 400, dim, "normal", dim**-0.5)
    query = make_bag(rng, 400, "normal", 60)
    bags = [make_bag(rng, 400, "normal", 80) for _ in range(40)]
    problem = Problem(QueryBag(query, vectors[query.words]), bags, vectors)
    expected = [naive.rwmd(query, vectors[query.words], bag, vectors) for bag in bags]
    np.testing.assert_allclose(_rwmd(problem), expected, rtol=1e-4)
    dual, lower, upper = _dual_and_sinkhorn(problem)
    assert np.all(dual >= (1 - 1e-4) * np.array(expected))
    bound_problem = bounds.Problem.of(problem.query, problem.packed, vectors)
    unquantised = bounds.one_pass_dual(bound_problem, np.arange(len(bags)))
    np.testing.assert_allclose(_quantised_dual(problem), unquantised, rtol=0.02)
    assert np.all(_quantised_dual(problem, -np.inf) <= _quantised_dual(problem))
    whole = np.array([naive.wmd(query, vectors[query.words], bag, vectors) for bag in bags])
    assert np.mean(lower / whole) > 0.97
    assert np.mean(upper / whole) < 1.1
    _, fine_lower, fine_upper = _dual_and_sinkhorn(problem, fine=True)
    assert np.mean(whole - fine_lower) < 0.5 * np.mean(whole - lower)
    assert np.mean(fine_upper - whole) < 0.5 * np.mean(upper - whole)
    exact_wcd = [naive.wcd(query, vectors[query.words], bag, vectors) for bag in bags]
    np.testing.assert_allclose(_wcd(problem), exact_wcd, rtol=1e-3)


def test_rwmd_is_the_larger_side() -> None:
    # One word against two, one of them the same: only the side of the two-word bag has a cost.
    vectors = np.array([[0.0], [1.0]], np.float32)
    one, two = Bag.of([0], [1]), Bag.of([0, 1], [1, 3])
    for query, bag in ((one, two), (two, one)):
        assert sorted(naive.rwmd_sides(query, vectors[query.words], bag, vectors)) == [0, 0.75]
        cost = query_cost(QueryBag(query, vectors[query.words]), vectors)
        assert rwmd(Bags.of([bag]), cost, query).tolist() == pytest.approx([0.75], rel=1e-5)


def test_the_cost_of_equal_words_is_zero() -> None:
    vectors = make_vectors(np.random.default_rng(3), 6, 5, "offset", 1.0)
    query = Bag.of([1, 4, 6], [1, 1, 1])
    # The query's vectors of words 1 and 4 differ from the vocabulary's: their cost is 0 because the words are equal.
    own = np.ones((3, 5), np.float32)
    cost = query_cost(QueryBag(query, own), vectors)
    expected = cost_floor(vectors, own)
    assert np.all(expected > 1)
    expected[1, 0] = expected[4, 1] = 0
    np.testing.assert_array_equal(cost, expected)


def test_no_bags_give_empty_bounds() -> None:
    none, query = Bags.of([]), Bag.of([0], [1])
    assert rwmd(none, np.zeros((1, 1), np.float32), query).shape == (0,)
    assert wcd(np.empty((0, 2), np.float32), np.ones(2, np.float32)).shape == (0,)


@given(st.integers(0, 2**32), st.integers(1, 300), st.floats(-3.0, 3.0))
def test_wcd_from_squares_is_below_the_distance_before_rounding(seed: int, dim: int, exponent: float) -> None:
    rng = np.random.default_rng(seed)
    centre, near = rng.standard_normal((2, dim)) * 10**exponent
    near = centre + near * 10.0 ** -rng.integers(0, 8)
    a, b = centre.astype(np.float32), near.astype(np.float32)
    norms = np.linalg.norm(np.stack([a, b]), axis=1)
    squares = np.square(norms[:1]) + np.square(norms[1]) - 2 * (a[None] @ b)
    assert wcd_from_squares(squares, norms[:1], norms[1], dim)[0] <= np.linalg.norm(centre - near)
