"""Fusion of rankings by rank."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.scorers.fusion import reciprocal_ranks

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


def test_empty_rankings_give_an_empty_one() -> None:
    assert [array.tolist() for array in reciprocal_ranks([_ids(), _ids()])] == [[], []]
