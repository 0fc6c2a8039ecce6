"""The bound by unshared words: equal to its definition, and never above the distances that it is a bound of."""

import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.unshared_words import NearestOthers, unshared_cost

_VECTORS = np.random.default_rng(3).standard_normal((12, 5)).astype(np.float32)
_VECTORS[7] = _VECTORS[2]  # two words with one vector
_COSTS = cdist(_VECTORS.astype(np.float64), _VECTORS.astype(np.float64))
_TEXTS = [f"w{i}" for i in range(12)]

_BAG = st.dictionaries(st.integers(0, 11), st.integers(1, 5), min_size=1, max_size=6)


def _bags(counts: list[dict[int, int]]) -> Bags:
    bags = []
    for one in counts:
        words = np.array(sorted(one), np.int32)
        weights = np.array([one[int(word)] for word in words], float)
        bags.append(Bag(words, weights / weights.sum()))
    return Bags.of(bags)


@given(st.lists(_BAG, min_size=1, max_size=4), st.lists(_BAG, min_size=1, max_size=4), st.sampled_from([0.3, 1.0]))
def test_no_bound_is_above_the_distance(
    documents: list[dict[int, int]], pool: list[dict[int, int]], share: float
) -> None:
    bags, others = _bags(documents), _bags(pool)
    used = np.unique(others.words)
    nearest = NearestOthers([_TEXTS[i] for i in used], _VECTORS[used])
    least = nearest.costs(bags, _TEXTS, _VECTORS, share)
    assert np.array_equal(nearest.costs(bags, _TEXTS, _VECTORS, share), least)
    bounds = unshared_cost(bags, others, least)
    assert bounds.shape == (len(bags), len(others))
    for i, bag in enumerate(bags):
        for j, other in enumerate(others):
            cost = _COSTS[np.ix_(bag.words, other.words)]
            side = bag.weights @ cost.min(axis=1)
            assert bounds[i, j] <= side + 1e-12
            assert side <= ot.emd2(bag.weights, other.weights, cost) + 1e-9
            if share == 1:
                lacking = [
                    (weight, min(_COSTS[word, u] for u in used if u != word))
                    for word, weight in zip(bag.words, bag.weights, strict=True)
                    if word not in other.words
                ]
                assert bounds[i, j] == pytest.approx(sum(weight * cost for weight, cost in lacking), abs=1e-3)


def test_rare_words_are_not_computed() -> None:
    bags = _bags([{0: 4, 1: 1}, {0: 4, 2: 1}, {3: 1}])
    least = NearestOthers(_TEXTS, _VECTORS).costs(bags, _TEXTS, _VECTORS, 0.75)
    assert np.flatnonzero(least).tolist() == [0, 3]


def test_a_pool_of_one_word() -> None:
    bags, others = _bags([{0: 1}, {1: 1}]), _bags([{0: 1}])
    least = NearestOthers(["w0"], _VECTORS[:1]).costs(bags, _TEXTS[:2], _VECTORS[:2])
    assert unshared_cost(bags, others, least).ravel() == pytest.approx([0, _COSTS[0, 1]], abs=1e-3)
