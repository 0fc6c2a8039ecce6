"""Fusion of rankings by rank and by value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.scorers.fusion import linear, reciprocal_ranks

RANKINGS = st.lists(st.lists(st.integers(0, 30), unique=True, max_size=8), min_size=1, max_size=3)


def _ids(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@given(RANKINGS)
def test_reciprocal_ranks_equal_the_formula(rankings: list[list[int]]) -> None:
    expected: dict[int, float] = {}
    for ranking in rankings:
        for rank, id_ in enumerate(ranking, start=1):
            expected[id_] = expected.get(id_, 0.0) + 1 / (60 + rank)
    ids, scores = reciprocal_ranks([_ids(*ranking) for ranking in rankings])
    assert dict(zip(ids.tolist(), scores.tolist(), strict=True)) == pytest.approx(expected)
    assert scores.tolist() == sorted(scores.tolist(), reverse=True)


def test_common_ids_come_first_and_ties_are_in_the_order_of_ids() -> None:
    ids, _ = reciprocal_ranks([_ids(5, 1, 9), _ids(7, 1, 2)])
    assert ids.tolist() == [1, 5, 7, 2, 9]


def test_values_are_scaled_to_the_same_range() -> None:
    ids, scores = linear(
        [_ids(1, 2, 3), _ids(3, 4)], [np.array([-1.0, -2.0, -3.0]), np.array([90.0, 10.0])], [0.6, 0.4]
    )
    assert dict(zip(ids.tolist(), scores.tolist(), strict=True)) == pytest.approx({1: 0.6, 2: 0.3, 3: 0.4, 4: 0.0})
    assert ids.tolist() == [1, 3, 2, 4]


def test_equal_values_are_the_best_and_empty_rankings_give_an_empty_one() -> None:
    ids, scores = linear([_ids(4, 2), _ids()], [np.array([3.0, 3.0]), np.empty(0)], [0.5, 0.5])
    assert (ids.tolist(), scores.tolist()) == ([2, 4], [0.5, 0.5])
    assert [array.tolist() for array in reciprocal_ranks([_ids(), _ids()])] == [[], []]
