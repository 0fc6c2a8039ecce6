import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.errors import EvaluationError
from moverank.rerank.evaluation.knn import cross_validated_settings, folds


@given(st.integers(2, 40), st.integers(0, 9))
def test_folds_have_nearly_equal_sizes(queries: int, count: int) -> None:
    if count == 1 or count > queries:
        with pytest.raises(EvaluationError, match="folds"):
            folds(queries, count)
        return
    sizes = np.bincount(folds(queries, count))
    assert len(sizes) == (count or queries)
    assert sizes.max() - sizes.min() <= 1


@given(st.integers(1, 4), st.integers(2, 8), st.integers(0, 99))
def test_the_setting_of_a_query_is_the_best_on_the_other_folds(settings: int, queries: int, seed: int) -> None:
    figures = np.random.default_rng(seed).integers(0, 3, (settings, queries)) / 2
    fold = folds(queries, 0 if seed % 2 else 2, seed)
    choice = cross_validated_settings(figures, fold)
    for query in range(queries):
        others = [other for other in range(queries) if fold[other] != fold[query]]
        means = [sum(figures[setting, other] for other in others) / len(others) for setting in range(settings)]
        assert choice[query] == means.index(max(means))


def test_inconsistent_arguments_are_rejected() -> None:
    with pytest.raises(EvaluationError, match="fold for each query"):
        cross_validated_settings(np.zeros((2, 3)), np.zeros(2, np.int64))
    with pytest.raises(EvaluationError, match="all queries are in one fold"):
        cross_validated_settings(np.zeros((2, 3)), np.zeros(3, np.int64))
