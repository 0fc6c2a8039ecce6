import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.errors import EvaluationError
from moverank.rerank.evaluation.tightness import kept_neighbours, prefetched, tightness


def test_tightness_is_the_mean_ratio_over_positive_distances() -> None:
    assert tightness(np.array([[0.5, 0.0, np.inf]]), np.array([[1.0, 0.0, np.inf]])) == 0.5
    assert tightness(np.zeros((1, 1)), np.zeros((1, 1))) == 1
    with pytest.raises(EvaluationError, match="a bound for each distance"):
        tightness(np.zeros((1, 2)), np.zeros((1, 3)))


def test_kept_neighbours_is_a_mean_share() -> None:
    assert kept_neighbours(np.array([[1, 2, 3], [4, 5, -1]]), np.array([[3, 9], [4, -1]])) == 0.75


@given(st.integers(1, 30), st.integers(1, 8), st.integers(1, 30), st.integers(0, 10**6))
def test_prefetch_and_prune_finds_the_nearest_of_the_candidates(n: int, k: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    distances = rng.random(n)
    wcd, rwmd = distances * rng.random(n), distances * rng.random(n)
    rows, solved = prefetched(wcd, rwmd, distances, max(k, m), k)
    candidates = np.argsort(wcd, kind="stable")[: max(k, m)]
    expected = np.sort(distances[candidates])[:k]
    assert distances[rows].tolist() == expected.tolist()
    assert min(k, n) <= solved <= len(candidates)
