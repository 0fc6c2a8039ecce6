"""Costs that are kept have the values of costs made anew, whatever was asked for before."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance import bounds
from moverank.rerank.distance.cascade import SCRATCH
from moverank.rerank.distance.cost_cache import CostCache
from moverank.rerank.distance.ground_cost import exact_cost, vector_norms, widest
from moverank.rerank.distance.quantised_cost import QuantisedCost
from moverank.rerank.distance.query_bag import QueryBag
from tests.rerank.problems import Problem, make_bag, make_vectors, problems


@settings(max_examples=60)
@given(problems(), st.integers(1, 50), st.lists(st.lists(st.integers(0, 11), min_size=1, max_size=4), max_size=6))
def test_costs_kept_are_those_made_anew(problem: Problem, most: int, looks: list[list[int]]) -> None:
    bags, norms = problem.packed, vector_norms(problem.vectors)
    fine = CostCache(problem.query, problem.vectors, norms, most)
    anew = bounds.Problem.of(problem.query, bags, problem.vectors, norms)
    largest = 1 + widest(norms, vector_norms(problem.query.vectors))
    exact = exact_cost(problem.vectors, problem.query.vectors)
    for look in looks:
        rows = np.array(look, np.int64) % len(bags)
        some = bags.take(rows)
        kept = fine.problem(some)
        floor = kept.cost[kept.bags.words]
        assert np.all(floor <= exact[some.words])
        # Products of other shapes are rounded otherwise: far from the origin the root makes that large.
        np.testing.assert_allclose(np.square(floor), np.square(anew.cost[some.words]), atol=1e-5 * largest**2)
        assert kept.place[kept.bags.words].tolist() == anew.place[some.words].tolist()
        assert kept.slack <= anew.slack
        assert len(kept.cost) <= max(most, len(np.unique(some.words)))


@settings(max_examples=60)
@given(problems())
def test_costs_that_another_filled_in_are_taken(problem: Problem) -> None:
    norms, v = vector_norms(problem.vectors), len(problem.vectors)
    fine = CostCache(problem.query, problem.vectors, norms, v)
    room = fine.room()
    QuantisedCost.of(problem.query, problem.vectors, norms, SCRATCH, room)
    given_ = fine.problem(problem.packed)
    assert np.shares_memory(given_.cost, room)
    assert given_.bags.words.tolist() == problem.packed.words.tolist()
    exact = exact_cost(problem.vectors, problem.query.vectors)
    own = np.flatnonzero(given_.place >= 0)
    exact[own, given_.place[own]] = 0
    assert np.all(room <= exact)
    largest = 1 + widest(norms, vector_norms(problem.query.vectors))
    np.testing.assert_allclose(np.square(room), np.square(exact), atol=1e-5 * largest**2)


def test_words_that_are_too_many_have_no_room() -> None:
    vectors = make_vectors(np.random.default_rng(3), 40, 5, "normal", 1.0)
    bag = make_bag(np.random.default_rng(3), 40, "normal", 9)
    assert len(CostCache(QueryBag(bag, vectors[bag.words]), vectors, vector_norms(vectors), 39).room()) == 0


def test_only_words_that_are_new_are_computed() -> None:
    rng = np.random.default_rng(3)
    vectors = make_vectors(rng, 40, 5, "normal", 1.0)
    bag = make_bag(rng, 40, "normal", 9)
    bags = Bags.of([make_bag(rng, 40, "normal", 12) for _ in range(9)])
    fine = CostCache(QueryBag(bag, vectors[bag.words]), vectors, vector_norms(vectors), 40)
    sizes = [len(fine.problem(bags.take(np.array(rows))).cost) for rows in ([0, 1], [1, 0], [0, 1, 2], [2])]
    seen = [len(np.unique(bags.take(np.arange(n)).words)) for n in (2, 3)]
    assert sizes == [seen[0], seen[0], seen[1], seen[1]]
