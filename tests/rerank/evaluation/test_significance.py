import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from moverank.rerank.errors import EvaluationError
from moverank.rerank.evaluation.measures import holm, randomisation
from tests import naive_evaluation as naive

FIGURES = st.lists(st.integers(-8, 8).map(lambda n: n / 8), min_size=2, max_size=8)


@given(FIGURES)
def test_all_sign_vectors_are_tried_if_they_are_few(differences: list[float]) -> None:
    p = randomisation(np.array(differences), np.zeros(len(differences)))
    assert p == pytest.approx(naive.sign_test(differences))


def test_drawn_sign_vectors_are_reproducible_and_approximate_the_t_test() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.random(60) + 0.05, rng.random(60)
    p = randomisation(one, other)
    assert p == randomisation(one, other)
    assert p == pytest.approx(ttest_rel(one, other).pvalue, abs=0.03)
    assert randomisation(one, other) == pytest.approx(randomisation(other, one), abs=0.02)


def test_equal_methods_and_a_single_query_are_not_significant() -> None:
    one, other = np.array([0.1, 0.5, 0.9, 0.3]), np.array([0.2, 0.2, 0.4, 0.3])
    assert randomisation(one, one) == 1.0
    assert randomisation(one[:1], other[:1]) == 1.0


def test_holm_adjusts_for_multiple_tests() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_figures_of_different_queries_are_rejected() -> None:
    with pytest.raises(EvaluationError, match="same queries"):
        randomisation(np.zeros(3), np.zeros(4))
