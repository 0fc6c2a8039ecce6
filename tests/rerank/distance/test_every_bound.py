import numpy as np
import pytest
from hypothesis import given

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.bounds import every_bound
from moverank.rerank.distance.explain import bounds_of
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.distance.transport import solve_bags
from moverank.rerank.evaluation.tightness import BOUNDS
from tests import naive
from tests.rerank.problems import Problem, problems


@given(problems())
def test_lower_bounds_are_not_above_the_distance_for_many_documents_or_for_one(problem: Problem) -> None:
    query, vectors, slack = problem.query, problem.vectors, 1e-6 * float(np.abs(problem.vectors).max(initial=1e-6))
    bounds = every_bound(query, problem.packed, vectors)
    for row, bag in enumerate(problem.bags):
        exact = solve_bags(query.bag, bag, query.vectors, vectors[bag.words])[0].distance
        of_one = bounds_of(query, bag, vectors)
        for name in BOUNDS:
            assert bounds[name][row] <= exact + slack
            assert of_one[name] <= exact + slack
        assert bounds["upper"][row] >= exact - slack
        assert bounds["rwmd"][row] == max(bounds["rwmd_query"][row], bounds["rwmd_document"][row])


def test_relaxed_bounds_equal_the_naive_ones() -> None:
    rng = np.random.default_rng(6)
    vectors = rng.standard_normal((20, 5)).astype(np.float32)
    bags = [Bag.of(rng.choice(20, 6, replace=False), rng.random(6)) for _ in range(8)]
    query = QueryBag(bags[0], vectors[bags[0].words])
    bounds = every_bound(query, Bags.of(bags), vectors)
    for row, bag in enumerate(bags):
        query_side, document_side = naive.rwmd_sides(query.bag, query.vectors, bag, vectors)
        assert bounds["rwmd_query"][row] == pytest.approx(query_side, abs=1e-3)
        assert bounds["rwmd_document"][row] == pytest.approx(document_side, abs=1e-3)
        assert bounds["wcd"][row] == pytest.approx(naive.wcd(query.bag, query.vectors, bag, vectors), abs=1e-3)
