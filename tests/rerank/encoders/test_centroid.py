import numpy as np
import pytest
from hypothesis import given

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.encoders import centroid
from moverank.rerank.encoders.centroid import centroids
from tests import naive
from tests.rerank.problems import Problem, make_bag, make_vectors, problems


@given(problems())
def test_centroids_are_the_weighted_means(problem: Problem) -> None:
    found = centroids(problem.packed, problem.vectors)
    assert found.dtype == np.float32
    assert found.shape == (len(problem.bags), problem.vectors.shape[1])
    # Rounded once: half a unit of float32 of the largest term, and not the sum of many such.
    allowed = 6e-8 * float(np.abs(problem.vectors).max())
    for row, bag in zip(found.tolist(), problem.bags, strict=True):
        assert row == pytest.approx(naive.centroid(bag, problem.vectors), rel=6e-8, abs=allowed)


def test_the_centroid_of_one_word_is_its_vector() -> None:
    vectors = make_vectors(np.random.default_rng(1), 5, 7, "normal", 1.0)
    bags = Bags.of([Bag.of([word], [3]) for word in (4, 0, 4)])
    np.testing.assert_array_equal(centroids(bags, vectors), vectors[[4, 0, 4]])


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    vectors = make_vectors(rng, 30, 4, "normal", 1.0)
    bags = Bags.of([make_bag(rng, 30, "normal", 6) for _ in range(11)])
    whole = centroids(bags, vectors)
    monkeypatch.setattr(centroid, "_BLOCK", 4)
    np.testing.assert_array_equal(centroids(bags, vectors), whole)


def test_no_bags_have_no_centroids() -> None:
    assert centroids(Bags.of([]), np.ones((3, 2), np.float32)).shape == (0, 2)
