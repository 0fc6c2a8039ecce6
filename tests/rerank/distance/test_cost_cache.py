"""Cached costs equal newly computed ones, whatever was cached before."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance import bounds
from moverank.rerank.distance.cascade import QUANTISED_BYTES
from moverank.rerank.distance.cost_cache import CostCache
from moverank.rerank.distance.ground_cost import cost_ceiling, exact_cost, vector_norms
from moverank.rerank.distance.quantised_cost import QuantisedCost
from moverank.rerank.distance.query_bag import QueryBag
from tests.rerank.problems import Problem, make_bag, make_vectors, problems


@given(problems(), st.integers(1, 50), st.lists(st.lists(st.integers(0, 11), min_size=1, max_size=4), max_size=6))
def test_cached_costs_equal_new_ones(problem: Problem, max_words: int, requests: list[list[int]]) -> None:
    bags, norms = problem.packed, vector_norms(problem.vectors)
    cache = CostCache(problem.query, problem.vectors, norms, max_words)
    expected = bounds.Problem.of(problem.query, bags, problem.vectors, norms)
    largest = 1 + cost_ceiling(norms, vector_norms(problem.query.vectors))
    exact = exact_cost(problem.vectors, problem.query.vectors)
    for request in requests:
        rows = np.array(request, np.int64) % len(bags)
        some = bags.take(rows)
        cached = cache.problem(some)
        floor = cached.cost[cached.bags.words]
        assert np.all(floor <= exact[some.words])
        # Products of other shapes are rounded differently: far from the origin the root magnifies that.
        np.testing.assert_allclose(np.square(floor), np.square(expected.cost[some.words]), atol=1e-5 * largest**2)
        assert cached.query_index[cached.bags.words].tolist() == expected.query_index[some.words].tolist()
        assert cached.slack <= expected.slack
        assert len(cached.cost) <= max(max_words, len(np.unique(some.words)))


@given(problems())
def test_costs_that_the_caller_filled_in_are_used(problem: Problem) -> None:
    norms, v = vector_norms(problem.vectors), len(problem.vectors)
    cache = CostCache(problem.query, problem.vectors, norms, v)
    matrix = cache.matrix_of_all_words()
    QuantisedCost.of(problem.query, problem.vectors, norms, QUANTISED_BYTES, matrix)
    filled = cache.problem(problem.packed)
    assert np.shares_memory(filled.cost, matrix)
    assert filled.bags.words.tolist() == problem.packed.words.tolist()
    exact = exact_cost(problem.vectors, problem.query.vectors)
    own = np.flatnonzero(filled.query_index >= 0)
    exact[own, filled.query_index[own]] = 0
    assert np.all(matrix <= exact)
    largest = 1 + cost_ceiling(norms, vector_norms(problem.query.vectors))
    np.testing.assert_allclose(np.square(matrix), np.square(exact), atol=1e-5 * largest**2)


def test_too_many_words_have_no_matrix() -> None:
    vectors = make_vectors(np.random.default_rng(3), 40, 5, "normal", 1.0)
    bag = make_bag(np.random.default_rng(3), 40, "normal", 9)
    cache = CostCache(QueryBag(bag, vectors[bag.words]), vectors, vector_norms(vectors), 39)
    assert len(cache.matrix_of_all_words()) == 0


def test_only_new_words_are_computed() -> None:
    rng = np.random.default_rng(3)
    vectors = make_vectors(rng, 40, 5, "normal", 1.0)
    bag = make_bag(rng, 40, "normal", 9)
    bags = Bags.of([make_bag(rng, 40, "normal", 12) for _ in range(9)])
    cache = CostCache(QueryBag(bag, vectors[bag.words]), vectors, vector_norms(vectors), 40)
    sizes = [len(cache.problem(bags.take(np.array(rows))).cost) for rows in ([0, 1], [1, 0], [0, 1, 2], [2])]
    seen = [len(np.unique(bags.take(np.arange(n)).words)) for n in (2, 3)]
    assert sizes == [seen[0], seen[0], seen[1], seen[1]]
