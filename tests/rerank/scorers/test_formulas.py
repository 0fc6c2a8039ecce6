"""Properties of single scorers beyond the contract."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.testing.sample_counts import Counted, Counts

LARGE = 10.0


def _scores(name: str, options: dict[str, str], documents: list[Counts], query: Counts) -> list[float]:
    scores: list[float] = Counted(documents, {}).segment().score(name, options, query).tolist()
    return scores


@pytest.mark.parametrize("name", ["bow", "tfidf"])
def test_l2_distances_of_near_documents_are_accurate(name: str) -> None:
    # 2 - 2 cos would lose these differences of 1e-9 and less to rounding.
    query: Counts = {"a": 1.0, "b": 1.0, "c": 1.0}
    documents: list[Counts] = [{"a": 1.0, "b": 1.0, "c": 1 + shift} for shift in (0, 1e-12, 1e-11, 1e-10, 1e-9)]
    scores = _scores(name, {"norm": "l2"}, [*documents, {**query, "d": 1e-9}], query)
    assert scores[0] < 1e-15
    assert scores[:5] == sorted(scores[:5])
    # If the third coordinate of (1, 1, 1) / sqrt(3) grows by e, the vector turns by e sqrt(2) / 3.
    assert scores[1:5] == pytest.approx([shift * np.sqrt(2) / 3 for shift in (1e-12, 1e-11, 1e-10, 1e-9)], rel=1e-3)
    assert scores[5] > 0
    # A term of the query alone has the same effect.
    assert _scores(name, {"norm": "l2"}, [query, {}, {}], {**query, "d": 1e-9})[0] > 0
    if name == "bow":
        assert scores[5] == pytest.approx(1e-9 / np.sqrt(3), rel=1e-6)
        missing = _scores(name, {"norm": "l2"}, [query], {**query, "d": 1e-9})
        assert missing == pytest.approx([1e-9 / np.sqrt(3)], rel=1e-6)


def test_k3_weights_repeated_query_words() -> None:
    documents: list[Counts] = [{"a": 1.0, "b": 2.0}, {"b": 1.0}]
    once, thrice = ({"a": count} for count in (1.0, 3.0))
    base = _scores("bm25", {}, documents, once)[0]
    weights = {"inf": 3.0, "0": 1.0, "1": 1.5, "7": 2.4}
    for k3, weight in weights.items():
        assert _scores("bm25", {"k3": k3}, documents, thrice)[0] == pytest.approx(weight * base, rel=1e-12)
        assert _scores("bm25", {"k3": k3}, documents, once)[0] == pytest.approx(base, rel=1e-12)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e4), st.integers(0, 5))
def test_pl2_scores_of_shared_words_are_positive(count: float, others: float, more: int) -> None:
    documents: list[Counts] = [{"a": count, "b": others}, *({"a": 1.0} for _ in range(more)), {"c": 5.0}]
    scores = _scores("pl2", {}, documents, {"a": 1.0})
    assert all(score > 0 for score in scores[:-1])
    assert scores[-1] == 0


def test_pl2_is_bounded_for_a_word_of_a_huge_document() -> None:
    documents: list[Counts] = [{"a": 1.0, "b": 9.0}, {"a": 1.0, "b": 1e6}, *({"c": LARGE} for _ in range(1000))]
    small, huge, *_ = _scores("pl2", {}, documents, {"a": 1.0})
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
