import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from moverank.rerank.errors import EvaluationError
from moverank.rerank.evaluation.significance import holm, paired_t, randomisation
from tests import naive_evaluation as naive

FIGURES = st.lists(st.integers(-8, 8).map(lambda n: n / 8), min_size=2, max_size=8)


@given(FIGURES)
def test_all_signs_are_tried_where_they_are_few(differences: list[float]) -> None:
    found = randomisation(np.array(differences), np.zeros(len(differences)))
    assert found == pytest.approx(naive.sign_test(differences))


def test_drawn_signs_come_near_and_are_the_same_by_seed() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.random(60) + 0.05, rng.random(60)
    found = randomisation(one, other)
    assert found == randomisation(one, other)
    assert found == pytest.approx(paired_t(one, other), abs=0.03)
    assert randomisation(one, other) == pytest.approx(randomisation(other, one), abs=0.02)


def test_the_t_test_is_that_of_the_differences() -> None:
    one, other = np.array([0.1, 0.5, 0.9, 0.3]), np.array([0.2, 0.2, 0.4, 0.3])
    assert paired_t(one, other) == pytest.approx(ttest_1samp(one - other, 0).pvalue)
    assert paired_t(one, one) == randomisation(one, one) == 1.0
    assert paired_t(one, one - 0.25) == 0.0
    assert paired_t(one[:1], other[:1]) == randomisation(one[:1], other[:1]) == 1.0


def test_several_tests_pay_for_being_several() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_figures_of_different_queries_are_refused() -> None:
    with pytest.raises(EvaluationError, match="same queries"):
        randomisation(np.zeros(3), np.zeros(4))
