import numpy as np
import pytest
from scipy.stats import skew

from moverank.rerank.errors import EvaluationError
from moverank.rerank.evaluation.tightness import hubness, k_occurrences, skewness


def test_occurrences_and_their_skewness() -> None:
    neighbours = np.array([[1, 2], [2, 0], [1, -1]])
    counts = k_occurrences(neighbours, 4)
    assert counts.tolist() == [1, 2, 2, 0]
    assert skewness(counts) == pytest.approx(float(skew(counts)))
    assert skewness(np.ones(3, np.int64)) == 0
    assert hubness([np.array([0, 1]), np.array([0, 2, 1])], 3, k=1) == pytest.approx(float(skew([2, 0, 0])))
    assert hubness([np.array([0, 1]), np.empty(0, np.int64)], 3) == pytest.approx(float(skew([1, 1, 0])))


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(EvaluationError):
        k_occurrences(np.array([[7]]), 3)
    with pytest.raises(EvaluationError):
        hubness([np.arange(2)], 2, k=0)
