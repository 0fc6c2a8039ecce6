"""RWMD over near words: the lists are those of brute force, and no bound is above the distance."""

from itertools import combinations

import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance import near_words
from moverank.rerank.distance.near_words import NearWords, NearWordsOf, PairBounds, common_words
from tests import naive
from tests.rerank.problems import VECTORS, WEIGHTS, make_bag, make_vectors
from tests.samples import examples


def _lists(near: NearWords) -> list[list[int]]:
    return [near.words[first:last].tolist() for first, last in zip(near.starts[:-1], near.starts[1:], strict=True)]


def _cost(vectors: NDArray[np.float32], known: NDArray[np.bool_], far: float) -> NDArray[np.float64]:
    """Return the distances of all words; unknown ones have a dimension each."""
    wide = np.hstack([vectors.astype(np.float64), np.diag(np.where(known, 0.0, far))])
    return cdist(wide, wide)


@given(
    st.integers(0, 2**32),
    st.integers(1, 40),
    st.integers(1, 5),
    st.sampled_from(VECTORS),
    st.none() | st.integers(0, 40),
    st.booleans(),
)
def test_words_outside_the_lists_cost_the_radius_or_more(
    seed: int, v: int, count: int, kind: str, sought: int | None, all_known: bool
) -> None:
    """Words that are sought have the lists of all."""
    rng = np.random.default_rng(seed)
    vectors, known = make_vectors(rng, v, 7, kind, 1.0), np.full(v, all_known) | (rng.random(v) < 0.7)
    vectors[~known] = 0
    wanted = np.isin(np.arange(v), rng.permutation(v)[:sought])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_words, "_NEAR", count)
        patch.setattr(near_words, "MATRIX_BYTES", 200)
        near = NearWords.of(vectors, known, 1.5, *([] if sought is None else [wanted]))
    cost, listed = _cost(vectors, known, 1.5), np.zeros((v, v), bool)
    for word, words in enumerate(_lists(near)):
        costs = near.costs[near.starts[word] : near.starts[word + 1]]
        assert sought is not None or words[0] == word or costs[0] == 0
        assert len(set(words)) == len(words)
        assert np.all(np.diff(costs) >= 0)
        assert np.all(costs <= cost[word, words] + 1e-12)
        listed[word, words] = True
    assert np.array_equal(listed, listed.T)
    assert np.all(listed | (near.radius[:, None] <= cost + 1e-12))
    assert np.all(listed.sum(axis=1)[known & wanted] >= min(count + 1, known.sum()))
    assert np.all(near.radius[known & ~wanted] == 0)
    if kind == "normal":
        nearest = np.sort(np.where(np.outer(known, known), cost, np.inf), axis=1)[:, min(count, known.sum() - 1)]
        assert np.all(near.radius[known] <= nearest[known])
        if all_known and count < v - 1:
            assert np.all(near.radius[wanted] > 0)


@given(
    st.integers(0, 2**32),
    st.integers(1, 4),
    st.sampled_from(VECTORS),
    st.sampled_from(WEIGHTS),
    st.sampled_from([1, 9]),
)
def test_no_bound_is_above_the_distance(seed: int, count: int, kind: str, weights: str, longest: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = make_vectors(rng, 25, 6, kind, 1.0)
    bags = [make_bag(rng, 25, weights, longest) for _ in range(9)]
    bags[5], bags[8] = bags[1], Bag.of([3], [1])
    known, (first, last) = np.ones(25, bool), (2, 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_words, "_NEAR", count)
        near = NearWords.of(vectors, known, 1.0)
    every = PairBounds(Bags.of(bags), near)
    lower, one_side = every.of_rows(0, 9, np.inf), every.of_rows(0, 9, -np.inf)
    cost = _cost(vectors, known, 1.0)
    for i, j in combinations(range(9), 2):
        exact = naive.wmd(bags[i], vectors[bags[i].words], bags[j], vectors)
        rounding = 1e-14 * max(1.0, float(cost.max()))
        assert one_side[i, j] <= lower[i, j] <= exact + rounding
        sides = _side(bags[i], bags[j], near, cost), _side(bags[j], bags[i], near, cost)
        assert lower[i, j] == pytest.approx(max(sides), abs=2e-3 * float(cost.max()))
        assert one_side[i, j] == pytest.approx(sides[1], abs=2e-3 * float(cost.max()))
    part = every.of_rows(first, last, np.inf)
    for row in range(first, last):
        np.testing.assert_array_equal(part[row - first, row + 1 :], lower[row, row + 1 :])


@examples(0.5)
@given(
    st.integers(0, 2**32),
    st.integers(1, 30),
    st.integers(1, 5),
    st.sampled_from(VECTORS),
    st.sampled_from(WEIGHTS),
    st.sampled_from([1, 1000]),
    st.sampled_from([0.0, 30.0]),
)
def test_bags_of_other_words(seed: int, w: int, count: int, kind: str, weights: str, many: int, away: float) -> None:
    rng = np.random.default_rng(seed)
    vectors = make_vectors(rng, 30 + w, 7, kind, 1.0) + np.float32(away)
    others, texts = rng.permutation(30 + w)[:w], [str(i) for i in range(30)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_words, "_NEAR", count)
        patch.setattr(near_words, "_MANY", many)
        patch.setattr(near_words, "_AXES", 3)
        patch.setattr(near_words, "_TOGETHER", 7)
        found = NearWordsOf(vectors[others])
        some = np.unique(rng.integers(0, 30, 9))
        part = found.near(texts, vectors[:30], some)
        near = found.near(texts, vectors[:30])
    cost = cdist(vectors[others].astype(np.float64), vectors[:30].astype(np.float64))
    rounding, listed = 1e-14 * max(1.0, float(cost.max())), np.zeros((w, 30), bool)
    for word, words in enumerate(_lists(near)):
        costs = near.costs[near.starts[word] : near.starts[word + 1]]
        assert np.all(costs <= cost[word, words] + rounding)
        assert costs == pytest.approx(cost[word, words], rel=1e-4, abs=1e-4)
        listed[word, words] = True
    assert np.all(listed.sum(axis=0) == min(count + 1, w))
    assert np.all(listed | (near.radius <= cost + rounding))
    np.testing.assert_array_equal(part.radius[some], near.radius[some])
    assert not part.radius[np.setdiff1d(np.arange(30), some)].any()

    bags = [make_bag(rng, 30, weights, 9) for _ in range(5)]
    queries = [make_bag(rng, w, weights, 9) for _ in range(4)]
    lower = PairBounds(Bags.of(bags), near, Bags.of(queries)).of_rows(0, 4, np.inf)
    for i, query in enumerate(queries):
        for j, bag in enumerate(bags):
            own = cost[query.words][:, bag.words]
            far = np.where(listed[query.words][:, bag.words], own, np.inf).min(axis=0)
            side = float(bag.weights @ np.minimum(near.radius[bag.words], far))
            assert lower[i, j] == pytest.approx(side, abs=2e-3 * max(1.0, float(cost.max())))
            assert lower[i, j] <= ot.emd2(query.weights, bag.weights, np.ascontiguousarray(own)) + 10 * rounding


def test_near_words_that_were_found_are_kept_until_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_words, "_KEPT", 2)
    vectors = np.random.default_rng(1).standard_normal((5, 4)).astype(np.float32)
    found = NearWordsOf(vectors[:2])
    first = found.near(["a", "b", "c"], vectors[2:], np.array([0, 1]))
    assert first.radius.astype(bool).tolist() == [True, True, False]
    kept = found.near(["c", "b"], vectors[[4, 3]], np.array([0]))
    assert kept.radius[1] == first.radius[1]
    assert found.near(["b", "d"], vectors[[3, 0]], np.array([1])).radius.astype(bool).tolist() == [False, True]


def test_the_most_common_words_have_a_share_of_each_bag() -> None:
    bags = [Bag.of([0, 1], [4, 1]), Bag.of([0, 2], [4, 1]), Bag.of([3], [1])]
    assert common_words(Bags.of(bags), 4, 0.75).tolist() == [0, 3]
    assert common_words(Bags.of(bags), 4, 1.0).tolist() == [0, 1, 2, 3]


def _side(bag: Bag, other: Bag, near: NearWords, cost: NDArray[np.float64]) -> float:
    """Return the cost of moving each word of `bag` to the nearest near word of `other`, or by its radius."""
    lists, total = _lists(near), 0.0
    for word, weight in zip(bag.words.tolist(), bag.weights.tolist(), strict=True):
        costs = [cost[word, one] for one in other.words.tolist() if one in lists[word]]
        total += weight * min([float(near.radius[word]), *costs])
    return total
