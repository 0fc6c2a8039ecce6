"""`nearest` returns the same as brute force, for each distance."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank import BagError, StageCounts
from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.bags.weights import with_factors
from moverank.rerank.distance import cascade, word_blocks
from moverank.rerank.distance.bounds import factor_bags
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.ranking import DISTANCES, Distance, Nearest
from tests import naive
from tests.rerank.problems import Problem, check_counts, make_bag, make_vectors, make_weights, problems

NAIVE: dict[Distance, Callable[[Bag, naive.Vectors, Bag, naive.Vectors], float]] = {
    "wmd": naive.wmd,
    "pwmd": naive.wmd,
    "rwmd": naive.rwmd,
    "chamfer": naive.chamfer,
    "cover": naive.cover,
    "wcd": naive.wcd,
}


def _brute_force(problem: Problem, distance: Distance) -> list[float]:
    query = problem.query
    return [NAIVE[distance](query.bag, query.vectors, bag, problem.vectors) for bag in problem.bags]


def _close(value: float, rounding: float) -> object:
    return pytest.approx(value, rel=1e-9, abs=rounding)


def _check_up_to_ties(found: Nearest, expected: list[float], count: int, rounding: float) -> None:
    """Check that `found` begins with the `count` nearest, where rows of equal distance may be in any order."""
    order = naive.top_k(expected, count)
    rows = found.rows.tolist()
    assert len(rows) == len(set(rows)) == len(found.distances) >= count
    assert found.distances.tolist() == sorted(found.distances.tolist())
    for row, distance in zip(rows, found.distances.tolist(), strict=True):
        assert distance == _close(expected[row], rounding)
    for row, expected_row in zip(rows, order, strict=False):
        assert expected[row] == _close(expected[expected_row], rounding)


def test_a_bound_above_the_distance_by_rounding_does_not_prune_the_nearest() -> None:
    # The solver has five digits of the mass 8e-12: the bound exceeds the distance in the sixth.
    bags = Bags.of([Bag.of([0, 1], [0.2, 0.8]), Bag.of([0, 1], [8.31281254e-12, 1])])
    query = QueryBag(Bag.of([2], [1]), np.zeros((1, 1), np.float32))
    vectors = np.array([[-0.001], [0]], np.float32)
    found = nearest(query, bags, vectors, 1)
    assert found.rows.tolist() == [1]
    assert found.distances[0] == pytest.approx(8.31281254e-15, rel=1e-4)


@pytest.mark.parametrize("distance", DISTANCES)
@given(problem=problems(), k=st.integers(1, 15))
def test_nearest_is_brute_force(distance: Distance, problem: Problem, k: int) -> None:
    found = nearest(problem.query, problem.packed, problem.vectors, k, distance)
    count = min(k, len(problem.bags))
    assert len(found.rows) == count
    _check_up_to_ties(found, _brute_force(problem, distance), count, problem.rounding)
    check_counts(found.counts, len(problem.bags), transport=distance in ("wmd", "pwmd"))


@pytest.mark.parametrize("distance", DISTANCES)
@given(problem=problems(), k=st.integers(1, 15), part=st.floats(0, 1.2))
def test_within_excludes_only_what_is_farther(distance: Distance, problem: Problem, k: int, part: float) -> None:
    expected = _brute_force(problem, distance)
    within = part * max(expected)
    found = nearest(problem.query, problem.packed, problem.vectors, k, distance, within=within)
    inside = sum(value <= within - problem.rounding for value in expected)
    assert len(found.rows) <= min(k, len(problem.bags))
    _check_up_to_ties(found, expected, min(k, inside), problem.rounding)
    check_counts(found.counts, len(problem.bags), transport=distance in ("wmd", "pwmd"))


@pytest.mark.parametrize("distance", DISTANCES)
def test_within_is_inclusive(distance: Distance) -> None:
    vectors = np.array([[0], [2], [5]], np.float32)
    bags = Bags.of([Bag.of([word], [1]) for word in (2, 1, 1)])
    expected = 4.0 if distance == "chamfer" else 2.0
    found = nearest(QueryBag(Bag.of([0], [1]), vectors[:1]), bags, vectors, 3, distance, within=expected)
    # Rows that are farther may be returned if they were computed anyway.
    assert found.rows.tolist()[:2] == [1, 2]
    assert found.distances.tolist()[:2] == [expected, expected]


def _random(seed: int, v: int, d: int, n: int, longest: int) -> Problem:
    rng = np.random.default_rng(seed)
    vectors = make_vectors(rng, v + 5, d, "normal", d**-0.5)
    # Words of one topic are close together, so that some bags are near and bounds can prune others.
    vectors += 2 * vectors[rng.integers(0, 10, v + 5)]
    query = make_bag(rng, v + 5, "normal", longest)
    bags = [make_bag(rng, v, "normal", longest) for _ in range(n)]
    for row in range(3, n, 3):
        # Every third bag shares most of its mass with the query, so that it is near.
        mine = query.words[query.words < v]
        words = np.concatenate([mine, bags[row].words])
        near = make_weights(rng, len(mine), "normal") * rng.uniform(0, 3)
        bags[row] = Bag.of(words, np.concatenate([near, bags[row].weights]))
    return Problem(QueryBag(query, vectors[query.words]), bags, vectors[:v])


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("v", [60, 5000], ids=["all words used", "few words used"])
def test_nearest_is_brute_force_for_ordinary_bags(distance: Distance, v: int) -> None:
    for seed in range(3):
        problem = _random(seed, v, 30, 120, 25)
        query, packed = problem.query, problem.packed
        assert np.any(query.bag.words >= v) or seed or v > 60
        found = nearest(query, packed, problem.vectors, 10, distance)
        expected = _brute_force(problem, distance)
        assert found.rows.tolist() == naive.top_k(expected, 10)
        assert found.distances.tolist() == pytest.approx([expected[row] for row in found.rows], rel=1e-9)


@pytest.mark.parametrize("quantised_bytes", [cascade.QUANTISED_BYTES, 0])
@pytest.mark.parametrize("distance", DISTANCES)
def test_bags_weighted_by_idf_during_the_search_are_those_weighted_before(
    distance: Distance, quantised_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("nearest", "cascade"):  # for fewer documents, all bags are weighted first
        monkeypatch.setattr(f"moverank.rerank.distance.{module}.FEW_DOCUMENTS", 0)
    monkeypatch.setattr(cascade, "QUANTISED_BYTES", quantised_bytes)
    problem = _random(5, 60, 30, 120, 25)
    idf = np.random.default_rng(5).uniform(1, 9, 60)
    weighted = replace(problem, bags=list(with_factors(problem.packed, idf)))
    found = nearest(problem.query, factor_bags(problem.packed, idf), problem.vectors, 10, distance)
    expected = _brute_force(weighted, distance)
    assert found.rows.tolist() == naive.top_k(expected, 10)
    assert found.distances.tolist() == pytest.approx([expected[row] for row in found.rows], rel=1e-9)
    same = nearest(weighted.query, weighted.packed, weighted.vectors, 10, distance)
    assert found.distances.tolist() == same.distances.tolist()


@pytest.mark.parametrize("blocks", [2, 7, 40])
def test_a_search_in_blocks_returns_the_same(monkeypatch: pytest.MonkeyPatch, blocks: int) -> None:
    problem = _random(12, 2000, 20, 150, 25)
    query, packed = problem.query, problem.packed
    whole = nearest(query, packed, problem.vectors, 8)
    # A block must hold any single bag: those have up to 50 words.
    matrix = 4 * len(query.bag) * len(packed.words)
    monkeypatch.setattr(cascade, "QUANTISED_BYTES", 0)
    monkeypatch.setattr(word_blocks, "MATRIX_BYTES", max(matrix // blocks, 4 * len(query.bag) * 50))
    sizes, take = [], Bags.take

    def counted(bags: Bags, rows: NDArray[np.int64]) -> Bags:
        sizes.append(len(rows))
        return take(bags, rows)

    monkeypatch.setattr(Bags, "take", counted)
    found = nearest(query, packed, problem.vectors, 8)
    assert sizes
    assert max(sizes) < 150
    assert found.rows.tolist() == whole.rows.tolist()
    assert found.distances.tolist() == pytest.approx(whole.distances.tolist(), rel=1e-12)
    check_counts(found.counts, 150, transport=True)


def test_a_bag_larger_than_a_block_is_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = _random(11, 20, 5, 4, 8)
    whole = nearest(problem.query, problem.packed, problem.vectors, 6)
    monkeypatch.setattr(cascade, "QUANTISED_BYTES", 0)
    monkeypatch.setattr(word_blocks, "MATRIX_BYTES", 16)
    found = nearest(problem.query, problem.packed, problem.vectors, 6)
    assert found.rows.tolist() == whole.rows.tolist()


def test_bounds_prune_most_of_the_transport_problems() -> None:
    problem = _random(7, 3000, 30, 400, 30)
    counts = nearest(problem.query, problem.packed, problem.vectors, 5).counts
    assert counts.candidates == 400
    assert 5 <= counts.solved < 200
    check_counts(counts, 400, transport=True)


def test_bags_of_500_words() -> None:
    rng = np.random.default_rng(6)
    vectors = make_vectors(rng, 900, 20, "normal", 1.0)
    bags = [Bag.of(rng.choice(900, 500, replace=False), make_weights(rng, 500, "orders")) for _ in range(4)]
    problem = Problem(QueryBag(bags[2], vectors[bags[2].words]), bags, vectors)
    found = nearest(problem.query, problem.packed, vectors, 3)
    _check_up_to_ties(found, _brute_force(problem, "wmd"), 3, problem.rounding)
    assert (found.rows[0], found.distances[0]) == (2, 0)


@pytest.mark.parametrize("distance", DISTANCES)
def test_equal_bags_keep_the_order_of_their_rows(distance: Distance) -> None:
    vectors = make_vectors(np.random.default_rng(4), 8, 3, "normal", 1.0)
    same, other = Bag.of([1, 2], [1, 1]), Bag.of([5, 6, 7], [1, 2, 3])
    bags = Bags.of([other, same, same, other, same])
    found = nearest(QueryBag(other, vectors[other.words]), bags, vectors, 4, distance)
    assert found.rows.tolist() == [0, 3, 1, 2]
    assert found.distances[0] == found.distances[1] == 0 < found.distances[2] == found.distances[3]


@pytest.mark.parametrize("distance", DISTANCES)
def test_read_only_arrays_are_accepted(distance: Distance) -> None:
    problem = _random(1, 40, 8, 20, 6)
    packed = problem.packed
    expected = nearest(problem.query, packed, problem.vectors, 5, distance)
    for array in (problem.vectors, packed.starts, packed.words, packed.weights):
        array.setflags(write=False)
    found = nearest(problem.query, packed, problem.vectors, 5, distance)
    assert found.rows.tolist() == expected.rows.tolist()


@pytest.mark.parametrize("distance", DISTANCES)
def test_no_bags_give_an_empty_result(distance: Distance) -> None:
    vectors = np.ones((3, 2), np.float32)
    found = nearest(QueryBag(Bag.of([0], [1]), vectors[:1]), Bags.of([]), vectors, 4, distance)
    assert (found.rows.tolist(), found.distances.tolist(), found.counts) == ([], [], StageCounts())


@pytest.mark.parametrize("words", [4, 60, 10**6])
@pytest.mark.parametrize("k", [1, 7, 200])
def test_rwmd_of_many_bags_is_brute_force(monkeypatch: pytest.MonkeyPatch, words: int, k: int) -> None:
    monkeypatch.setattr("moverank.rerank.distance.relaxed.max_words", lambda _: words)
    rng = np.random.default_rng(21)
    vectors = make_vectors(rng, 90, 8, "normal", 1.0)
    bags = [make_bag(rng, 80, "normal", 12) for _ in range(900)]
    bags += bags[:30]  # equal ones keep the order of their rows
    bag = make_bag(rng, 90, "normal", 10)
    query = QueryBag(bag, vectors[bag.words])
    expected = [naive.rwmd(query.bag, query.vectors, bag, vectors) for bag in bags]
    found = nearest(query, Bags.of(bags), vectors[:80], k, "rwmd")
    order = np.argsort(expected, kind="stable")[:k]
    np.testing.assert_allclose(found.distances, np.array(expected)[order], rtol=1e-9)
    assert found.rows.tolist() == order.tolist()
    assert found.counts.rwmd > 400
    near = nearest(query, Bags.of(bags), vectors[:80], k, "rwmd", within=float(found.distances[0]))
    assert near.rows[0] == found.rows[0]


@pytest.mark.parametrize("k", [0, -3])
def test_k_must_be_one_or_more(k: int) -> None:
    vectors = np.ones((1, 1), np.float32)
    bag = Bag.of([0], [1])
    with pytest.raises(BagError, match=f"k must be 1 or more, not {k}"):
        nearest(QueryBag(bag, vectors), Bags.of([bag]), vectors, k)


@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1e-20, 1e-16, 1e15])
def test_vectors_of_extreme_length_are_ranked_correctly(scale: float) -> None:
    problem = _random(5, 30, 5, 20, 6)
    vectors = (problem.vectors / np.abs(problem.vectors).max() * scale).astype(np.float32)
    query = QueryBag(problem.query.bag, vectors[problem.query.bag.words])
    found = nearest(query, problem.packed, vectors, 5)
    # POT itself treats small costs as equal: the oracle gets vectors of length about one.
    ordinary = vectors.astype(np.float64) / scale
    exact = [naive.wmd(query.bag, ordinary[query.bag.words], bag, ordinary) for bag in problem.bags]
    assert (found.distances / scale).tolist() == pytest.approx(sorted(exact)[:5], rel=1e-6)
