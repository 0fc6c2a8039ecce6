"""The cascade returns the same as brute force, with correct counts and bounds of unsolved rows."""

from contextlib import nullcontext, suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance import best_first, bounds, cascade, ground_cost, word_blocks
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.errors import OutOfTime
from moverank.rerank.ranking import Distance, Nearest, largest_error
from moverank.rerank.runtime.deadline import stopping
from tests import naive
from tests.rerank.problems import check_counts, many_bags
from tests.rerank.stops import StopAfter
from tests.samples import examples

pytestmark = pytest.mark.usefixtures("few_documents")


def _many_bags(seed: int, kind: str, weights: str, n: int = 120) -> tuple[QueryBag, Bags, np.ndarray]:
    problem = many_bags(seed, kind, weights, n)
    return problem.query, problem.packed, problem.vectors


def _check(found: Nearest, query: QueryBag, bags: Bags, vectors: np.ndarray, k: int) -> None:
    exact = np.array([naive.wmd(query.bag, query.vectors, bag, vectors) for bag in bags])
    np.testing.assert_allclose(found.distances, np.sort(exact)[:k], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(exact[found.rows], found.distances, rtol=1e-9, atol=1e-12)
    assert len(set(found.rows.tolist())) == min(k, len(bags))
    check_counts(found.counts, len(bags), transport=True)


@examples(0.5)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["normal", "lattice", "zeros", "twins", "offset"]),
    st.sampled_from(["equal", "normal", "orders"]),
    st.sampled_from([1, 5, 119, 120, 500]),
)
def test_the_cascade_is_brute_force(seed: int, kind: str, weights: str, k: int) -> None:
    query, bags, vectors = _many_bags(seed, kind, weights)
    _check(nearest(query, bags, vectors, k), query, bags, vectors, k)


@examples(0.3)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["normal", "lattice", "twins"]),
    st.sampled_from([1, 5, 40]),
    st.sampled_from([4, 30]),
)
def test_a_problem_too_large_for_one_matrix_is_searched_in_blocks(seed: int, kind: str, k: int, words: int) -> None:
    query, bags, vectors = _many_bags(seed, kind, "normal")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cascade, "QUANTISED_BYTES", 64 * 30)
        patch.setattr(word_blocks, "MATRIX_BYTES", 4 * len(query.bag) * words)
        found = nearest(query, bags, vectors, k)
    _check(found, query, bags, vectors, k)


def test_bounds_prune_most_documents() -> None:
    query, bags, vectors = _many_bags(7, "normal", "normal", n=2000)
    counts = nearest(query, bags, vectors, 10).counts
    assert counts.rwmd > 0
    assert counts.dual > 0
    assert counts.solved <= 20


@pytest.mark.slow
def test_fine_bounds_save_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [_many_bags(seed, "normal", "normal", n=400) for seed in range(20)]
    with_fine = sum(nearest(*each, 10).counts.solved for each in inputs)
    monkeypatch.setattr(cascade.Cascade, "_bound_contested", lambda _search, _rows: None)
    assert with_fine < sum(nearest(*each, 10).counts.solved for each in inputs)


def test_nothing_farther_than_within_is_solved() -> None:
    query, bags, vectors = _many_bags(3, "normal", "normal")
    near = nearest(query, bags, vectors, 10)
    within = float(near.distances[4])
    some = nearest(query, bags, vectors, 10, within=within)
    assert some.distances[:5].tolist() == near.distances[:5].tolist()
    assert some.counts.solved <= near.counts.solved
    assert nearest(query, bags, vectors, 10, within=-1.0).counts.solved == 0


@examples(0.5)
@given(st.integers(0, 2**32), st.sampled_from(["normal", "lattice"]), st.integers(0, 12), st.sampled_from([1, 7]))
def test_the_error_of_a_stopped_search_is_bounded(seed: int, kind: str, polls: int, k: int) -> None:
    query, bags, vectors = _many_bags(seed, kind, "normal")
    with stopping(StopAfter(polls)):
        found = nearest(query, bags, vectors, k, partial=True)
    exact = np.array([naive.wmd(query.bag, query.vectors, bag, vectors) for bag in bags])
    assert len(found.rows) == k
    np.testing.assert_allclose(exact[found.rows], found.distances, rtol=1e-9, atol=1e-12)
    best = np.sort(exact)[k - 1]
    assert best >= np.sort(np.append(found.distances, found.unsolved_bounds))[k - 1] - 1e-12
    assert found.distances[-1] - best <= largest_error(found.distances, found.unsolved_bounds, k) + 1e-12


@pytest.mark.parametrize("n", [600, 9000])
def test_a_late_problem_of_many_words_is_not_begun(n: int) -> None:
    """9,000 words take some tenths of a second, however few words the other side has."""
    vectors = np.random.default_rng(n).standard_normal((n + 60, 3)).astype(np.float32)
    query = QueryBag(Bag.of(np.arange(n), np.full(n, 1 / n)), vectors[:n])
    bags = Bags.of([Bag.of(np.arange(n + i, n + i + 30), np.full(30, 1 / 30)) for i in range(30)])
    with stopping(lambda: True), nullcontext() if n < 1000 else pytest.raises(OutOfTime):
        assert len(nearest(query, bags, vectors, 30, partial=True).rows) == 30


@pytest.mark.slow
@pytest.mark.parametrize("distance", ["wmd", "rwmd", "chamfer", "wcd"])
@pytest.mark.parametrize("k", [1, 7, 1000])
def test_wherever_a_search_is_stopped_its_hits_are_right_and_its_error_is_bounded(
    monkeypatch: pytest.MonkeyPatch, distance: Distance, k: int
) -> None:
    for name in ("_ENTRIES", "_CELLS", "_SCALED_CELLS"):  # every loop is a long one
        monkeypatch.setattr(bounds, name, 1)
    monkeypatch.setattr(ground_cost, "_PORTION", 1)
    monkeypatch.setattr(best_first, "_LATE_WORK", 100)
    query, bags, vectors = _many_bags(3, "normal", "normal")
    every = nearest(query, bags, vectors, len(bags), distance)
    exact = dict(zip(every.rows.tolist(), every.distances.tolist(), strict=True))
    ended = [0, 0]
    for polls in (*range(0, 500, 5), *range(500, 20_000, 211)):
        stop = StopAfter(polls)
        with stopping(stop):
            try:
                found = nearest(query, bags, vectors, k, distance, partial=True)
            except OutOfTime:
                ended[0] += 1
                continue
            with suppress(OutOfTime):  # a search that must be complete is complete, or none
                assert nearest(query, bags, vectors, k, distance).rows.tolist() == every.rows[:k].tolist()
        assert 0 < len(found.rows) <= k
        assert [exact[row] for row in found.rows.tolist()] == pytest.approx(found.distances.tolist(), rel=1e-6)
        wanted = every.distances[: min(k, len(bags))]
        bounded = np.sort(np.append(found.distances, found.unsolved_bounds))[: len(wanted)]
        assert np.all(bounded <= wanted[: len(bounded)] + 1e-9)
        if not len(found.unsolved_bounds):
            assert found.distances == pytest.approx(wanted, rel=1e-6)
        ended[1] += bool(len(found.unsolved_bounds))
        if stop.calls <= polls:
            break
    assert distance == "wcd" or (ended[0] > 0 and (ended[1] > 0 or k == 1))


def test_a_complete_search_has_no_unsolved_bounds() -> None:
    query, bags, vectors = _many_bags(5, "normal", "normal")
    assert len(nearest(query, bags, vectors, 4).unsolved_bounds) == 0
