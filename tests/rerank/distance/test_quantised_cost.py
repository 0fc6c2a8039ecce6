import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.cascade import QUANTISED_BYTES
from moverank.rerank.distance.ground_cost import exact_cost, vector_norms
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.quantised_cost import QuantisedCost
from moverank.rerank.distance.query_bag import QueryBag
from tests.rerank.problems import Problem, make_vectors, problems


def _check(quantised: QuantisedCost, problem: Problem) -> None:
    """Check that no quantised cost is above the exact one, and that only the clipped ones are far below."""
    query, v = problem.query, len(problem.vectors)
    exact = exact_cost(problem.vectors, query.vectors)
    own = np.flatnonzero(quantised.query_index >= 0)
    exact[own, quantised.query_index[own]] = np.inf
    lower = quantised.base[:, None] + quantised.above[:, : len(query.bag)] * quantised.step
    assert np.all(lower <= exact)
    assert np.all(quantised.above[:, len(query.bag) :] == 255)
    largest = float(np.abs(problem.vectors).max()) + float(np.abs(query.vectors).max())
    near = 2.1 * quantised.step + 0.02 * exact + 0.01 * largest
    with np.errstate(invalid="ignore"):
        assert np.all((quantised.above[:, : len(query.bag)] == 255) | (exact - lower <= near))
    assert np.all(quantised.nearest[own] == 0)
    assert quantised.above[np.arange(v), quantised.base_column].max() == 0 or len(query.bag) == 1


@given(problems())
def test_quantised_costs_are_below_the_exact_ones(problem: Problem) -> None:
    if np.abs(problem.vectors).max(initial=0) < 50:  # far from the origin float32 cannot distinguish words
        norms = vector_norms(problem.vectors)
        _check(QuantisedCost.of(problem.query, problem.vectors, norms, QUANTISED_BYTES), problem)


def test_a_matrix_above_the_memory_limit_is_not_made() -> None:
    vectors = make_vectors(np.random.default_rng(1), 50, 3, "normal", 1.0)
    query = QueryBag(Bag.of([1, 2], [1, 1]), vectors[[1, 2]])
    cost = QuantisedCost.of(query, vectors, vector_norms(vectors), 50 * 64 - 1)
    assert len(cost.above) == 0
    assert cost.nearest == pytest.approx(np.where([i in (1, 2) for i in range(50)], 0, cost.base))


@pytest.fixture(scope="module")
def large() -> tuple[Bags, NDArray[np.float32]]:
    """Bags of 60 words of a large vocabulary, and its vectors."""
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((400_000, 8), dtype=np.float32)
    return Bags.of([Bag.of(rng.choice(400_000, 60, replace=False), rng.random(60) + 0.1) for _ in range(8000)]), vectors


@pytest.mark.slow
@pytest.mark.parametrize("words", [500, 900])
def test_a_long_query_over_a_large_vocabulary_stays_within_half_a_gigabyte(
    words: int, large: tuple[Bags, NDArray[np.float32]]
) -> None:
    bags, vectors = large
    bag = Bag.of(np.random.default_rng(words).choice(400_000, words, replace=False), np.ones(words))
    query, norms = QueryBag(bag, vectors[bag.words]), vector_norms(vectors)
    tracemalloc.start()
    found = nearest(query, bags, vectors, 5, norms=norms)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.rows) == 5
    assert found.counts.solved < 2000
    assert peak < 512 * 2**20
