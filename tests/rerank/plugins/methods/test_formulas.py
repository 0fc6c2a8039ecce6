"""Properties of PL2 and of the interpolation beyond the contract."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.testing.sample_counts import Counted, Counts

LARGE = 10.0


def _pl2(documents: list[Counts], query: Counts) -> list[float]:
    scores: list[float] = Counted(documents, {}).segment().score("pl2", {}, query).tolist()
    return scores


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e4), st.integers(0, 5))
def test_pl2_scores_of_shared_words_are_positive(count: float, others: float, more: int) -> None:
    documents: list[Counts] = [{"a": count, "b": others}, *({"a": 1.0} for _ in range(more)), {"c": 5.0}]
    scores = _pl2(documents, {"a": 1.0})
    assert all(score > 0 for score in scores[:-1])
    assert scores[-1] == 0


def test_pl2_is_bounded_for_a_word_of_a_huge_document() -> None:
    documents: list[Counts] = [{"a": 1.0, "b": 9.0}, {"a": 1.0, "b": 1e6}, *({"c": LARGE} for _ in range(1000))]
    small, huge, *_ = _pl2(documents, {"a": 1.0})
    assert huge < small / 2
    # Stirling's series would grow with the length.
    assert huge < 1


def test_rounding_errors_of_vectors_that_cancel_out_are_no_direction() -> None:
    vectors = {"up": [0.0, 0.1], "down": [0.0, -0.3], "sky": [0.0, 1.0]}
    collection = Counted([{"up": 3.0, "down": 1.0}], {word: np.array(row, np.float32) for word, row in vectors.items()})
    # 3 * 0.1 differs from 0.3 in float32 and in float64.
    for query in ({"sky": 1.0}, {"up": 3.0, "down": 1.0}):
        assert collection.segment().score("interpolation", {"alpha": "1"}, query).tolist() == [0]


def test_vectors_that_cancel_out_have_no_direction() -> None:
    vectors = {"up": [0, 1], "down": [0, -1], "right": [1, 0]}
    documents: list[Counts] = [{"up": 2.0, "down": 2.0}, {"right": 1.0}, {"stone": 1.0}]
    collection = Counted(documents, {word: np.array(row, np.float32) for word, row in vectors.items()})
    segment = collection.segment()
    assert segment.score("interpolation", {"alpha": "1"}, {"right": 1.0, "up": 1e-9}).tolist() == [0, 1, 0]
    assert segment.score("interpolation", {"alpha": "1"}, documents[0]).tolist() == [0, 0, 0]
    assert segment.score("interpolation", {"alpha": "0.25"}, {}).tolist() == [0, 0, 0]
