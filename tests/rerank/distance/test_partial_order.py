"""Exact places are those of brute force through POT, whatever bounds place between them."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance import cascade
from moverank.rerank.distance.best_first import Places
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.distance.weighted_sum import WeightedSum
from moverank.rerank.ranking import Nearest
from tests import naive
from tests.rerank.problems import Problem, make_bag, make_vectors
from tests.samples import examples

N = 60


@pytest.fixture(autouse=True, params=[0, cascade.FEW_DOCUMENTS], ids=["many", "few"], scope="module")
def few_documents(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run every test on the path for many documents, and on that for few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cascade, "FEW_DOCUMENTS", request.param)
        yield


def _problem(rng: np.random.Generator, kind: str, weights: str) -> Problem:
    """Make a problem in which some bags occur twice, so that there are ties."""
    vectors = make_vectors(rng, 60, 8, kind, 1.0)
    bags = [make_bag(rng, 60, weights, 12) for _ in range(N)]
    bags[N // 2 :: 5] = bags[0 : len(bags[N // 2 :: 5])]
    query = make_bag(rng, 60, weights, 12)
    return Problem(QueryBag(query, vectors[query.words]), bags, vectors)


def _distances(problem: Problem) -> np.ndarray:
    query = problem.query
    return np.array([naive.wmd(query.bag, query.vectors, bag, problem.vectors) for bag in problem.bags])


def _check(found: Nearest, exact: np.ndarray, cutoff: int, places: Places, tolerance: float = 1e-9) -> None:
    rows = found.rows.tolist()
    assert len(set(rows)) == len(rows) == min(cutoff, len(exact))
    first = min(places.first, cutoff)
    np.testing.assert_allclose(exact[rows[:first]], np.sort(exact)[:first], rtol=0, atol=tolerance)
    for row in places.rows.tolist():
        _check_place(rows, exact, exact[row], rows.index(row) if row in rows else len(rows), tolerance)
    for value in places.values.tolist():
        _check_place(rows, exact, value, int(np.searchsorted(found.distances, value)), tolerance)
    known = found.known[rows]
    np.testing.assert_allclose(found.distances[known], exact[rows][known], rtol=0, atol=tolerance)
    assert np.all(found.distances <= exact[rows] + tolerance)


def _check_place(rows: list[int], exact: np.ndarray, value: float, place: int, tolerance: float) -> None:
    """Check that a `value` is at its `place`: all smaller ones before it, all larger ones behind it.

    Of one behind all rows, only that is known: the last rows may be in the order of lower bounds.
    """
    if place == len(rows):
        assert np.sum(exact <= value + tolerance) >= place
        return
    assert np.all(exact[rows[:place]] <= value + tolerance)
    assert np.all(exact[rows[place:]] >= value - tolerance)


@given(
    st.integers(0, 2**32),
    st.sampled_from(["normal", "lattice", "zeros", "twins", "offset"]),
    st.sampled_from(["equal", "normal", "orders"]),
    st.sampled_from([1, 7, 30, N, 2 * N]),
    st.integers(0, 5),
    st.sampled_from([1, 4, 100]),
)
def test_places_are_those_of_brute_force(
    seed: int, kind: str, weights: str, cutoff: int, placed: int, first: int
) -> None:
    rng = np.random.default_rng(seed)
    problem = _problem(rng, kind, weights)
    exact = _distances(problem)
    values = rng.choice(exact, 2) * rng.choice([1.0, 1.01], 2)
    places = Places(rng.choice(N, placed, replace=False), first, values)
    found = nearest(problem.query, problem.packed, problem.vectors, cutoff, places=places)
    _check(found, exact, cutoff, places)


@examples(0.5)
@given(st.integers(0, 2**32), st.sampled_from(["normal", "lattice"]), st.sampled_from([3, 30, N]))
def test_places_of_a_sum_are_those_of_brute_force(seed: int, kind: str, cutoff: int) -> None:
    rng = np.random.default_rng(seed)
    problem = _problem(rng, kind, "normal")
    document, side, rwmd, offset = rng.uniform(0, 1, (4, N))
    total = WeightedSum(rng.uniform(0.2, 2, N), document, side, rwmd, offset)
    query = problem.query
    sides = [naive.rwmd_sides(query.bag, query.vectors, bag, problem.vectors) for bag in problem.bags]
    query_side, document_side = np.array(sides).T
    exact = total.transport * _distances(problem) + total.document_side * document_side
    exact += total.query_side * query_side + total.rwmd * np.maximum(query_side, document_side) + total.offset
    places = Places(rng.choice(N, 3, replace=False), 2)
    found = nearest(query, problem.packed, problem.vectors, cutoff, total=total, places=places)
    _check(found, exact, cutoff, places)


def test_few_problems_are_solved() -> None:
    rng = np.random.default_rng(3)
    vectors = make_vectors(rng, 300, 8, "normal", 1.0)
    bags = Bags.of([make_bag(rng, 300, "normal", 40) for _ in range(500)])
    query = make_bag(rng, 300, "normal", 40)
    asked = QueryBag(query, vectors[query.words])
    exact = nearest(asked, bags, vectors, 500)
    places = Places(exact.rows[[20, 120, 300]], 10)
    found = nearest(asked, bags, vectors, 500, places=places)
    assert [found.rows.tolist().index(row) for row in places.rows.tolist()] == [20, 120, 300]
    assert found.rows[:10].tolist() == exact.rows[:10].tolist()
    assert found.counts.solved < 120
    assert exact.counts.solved == found.counts.candidates == 500
    assert len(found.unsolved_bounds) > 0  # so the list is not certified as a whole
