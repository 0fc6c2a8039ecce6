import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.distance.transport import solve_bags
from moverank.rerank.distance.why_not import bounds_of
from moverank.rerank.errors import EvaluationError
from moverank.rerank.evaluation.tightness import BOUNDS, every_bound, kept_neighbours, prefetched, tightness
from tests import naive
from tests.rerank.problems import Problem, problems


@given(problems())
def test_bounds_are_below_and_those_of_one_document(problem: Problem) -> None:
    query, vectors, slack = problem.query, problem.vectors, 1e-6 * float(np.abs(problem.vectors).max(initial=1e-6))
    found = every_bound(query, problem.packed, vectors)
    for row, bag in enumerate(problem.bags):
        exact = solve_bags(query.bag, bag, query.vectors, vectors[bag.words])[0].distance
        alone = bounds_of(query, bag, vectors)
        for name in BOUNDS:
            assert found[name][row] <= exact + slack
            assert alone[name] <= exact + slack
        assert found["upper"][row] >= exact - slack
        assert found["rwmd"][row] == max(found["rwmd_query"][row], found["rwmd_document"][row])


def test_rwmd_is_that_of_the_loop() -> None:
    rng = np.random.default_rng(6)
    vectors = rng.standard_normal((20, 5)).astype(np.float32)
    bags = [Bag.of(rng.choice(20, 6, replace=False), rng.random(6)) for _ in range(8)]
    query = QueryBag(bags[0], vectors[bags[0].words])
    found = every_bound(query, Bags.of(bags), vectors)
    for row, bag in enumerate(bags):
        asked, document = naive.rwmd_sides(query.bag, query.vectors, bag, vectors)
        assert found["rwmd_query"][row] == pytest.approx(asked, abs=1e-3)
        assert found["rwmd_document"][row] == pytest.approx(document, abs=1e-3)
        assert found["wcd"][row] == pytest.approx(naive.wcd(query.bag, query.vectors, bag, vectors), abs=1e-3)


def test_tightness_is_the_mean_ratio_of_those_apart() -> None:
    assert tightness(np.array([[0.5, 0.0, np.inf]]), np.array([[1.0, 0.0, np.inf]])) == 0.5
    assert tightness(np.zeros((1, 1)), np.zeros((1, 1))) == 1
    with pytest.raises(EvaluationError, match="a bound for each distance"):
        tightness(np.zeros((1, 2)), np.zeros((1, 3)))


def test_neighbours_that_are_kept_are_a_share() -> None:
    assert kept_neighbours(np.array([[1, 2, 3], [4, 5, -1]]), np.array([[3, 9], [4, -1]])) == 0.75


@given(st.integers(1, 30), st.integers(1, 8), st.integers(1, 30), st.integers(0, 10**6))
def test_prefetch_and_prune_finds_the_nearest_of_the_candidates(n: int, k: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    distances = rng.random(n)
    wcd, rwmd = distances * rng.random(n), distances * rng.random(n)
    found, solved = prefetched(wcd, rwmd, distances, max(k, m), k)
    candidates = np.argsort(wcd, kind="stable")[: max(k, m)]
    expected = np.sort(distances[candidates])[:k]
    assert distances[found].tolist() == expected.tolist()
    assert min(k, n) <= solved <= len(candidates)
