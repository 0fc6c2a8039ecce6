"""Bags that are multiplied by factors when they are taken are those that were multiplied before."""

import numpy as np
import pytest

from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import with_factors
from moverank.rerank.distance.bounds import bag_means, centroid_lengths, document_side, factor_bags
from tests.rerank.problems import make_bag, make_vectors


def test_every_use_of_them_is_that_of_weighted_bags() -> None:
    rng = np.random.default_rng(3)
    plain = Bags.of([make_bag(rng, 40, "normal", 12) for _ in range(30)])
    factors, values = rng.uniform(1, 9, 40), rng.uniform(0, 2, 40)
    expected, bags = with_factors(plain, factors), factor_bags(plain, factors)
    rows = np.array([7, 0, 29])
    several = [
        (bags.take(rows), expected.take(rows)),
        (bags.weighted(), expected),
        (bags.only(rows).weighted(), expected.take(rows)),
    ]
    several.append((Bags.of([bags[7]]), Bags.of([expected[7]])))
    for found, same in several:
        assert found.starts.tolist() == same.starts.tolist()
        assert found.words.tolist() == same.words.tolist()
        assert found.weights.tolist() == same.weights.tolist()
    assert len(bags) == 30
    by_numpy = [float(bag.weights @ values[bag.words]) for bag in expected]
    assert bag_means(bags, values) == pytest.approx(by_numpy, rel=1e-12)
    assert bag_means(bags.only(rows), values) == pytest.approx([by_numpy[row] for row in rows], rel=1e-12)
    vectors = make_vectors(rng, 40, 6, "normal", 1.0)
    by_numpy = [float(np.linalg.norm(bag.weights @ vectors[bag.words].astype(np.float64))) for bag in expected]
    assert centroid_lengths(bags, vectors) == pytest.approx(by_numpy, rel=1e-9)
    side = document_side(bags, values.astype(np.float32))
    assert np.all(side <= [float(bag.weights @ values.astype(np.float32)[bag.words]) for bag in expected])
