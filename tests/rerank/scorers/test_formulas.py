"""What single scorers keep beyond the contract."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.rerank.scorers.counted import Counted, Counts

LARGE = 10.0


def _scores(name: str, options: dict[str, str], documents: list[Counts], query: Counts) -> list[float]:
    found: list[float] = Counted(documents, {}).segment().score(name, options, query).tolist()
    return found


@pytest.mark.parametrize("name", ["bow", "tfidf"])
def test_near_documents_are_told_apart_in_l2(name: str) -> None:
    # 2 - 2 cos would lose these differences, of 1e-9 and less, in rounding.
    query: Counts = {"a": 1.0, "b": 1.0, "c": 1.0}
    documents: list[Counts] = [{"a": 1.0, "b": 1.0, "c": 1 + shift} for shift in (0, 1e-12, 1e-11, 1e-10, 1e-9)]
    found = _scores(name, {"norm": "l2"}, [*documents, {**query, "d": 1e-9}], query)
    assert found[0] < 1e-15
    assert found[:5] == sorted(found[:5])
    # Of (1, 1, 1) / sqrt(3), a third coordinate longer by e turns by e sqrt(2) / 3.
    assert found[1:5] == pytest.approx([shift * np.sqrt(2) / 3 for shift in (1e-12, 1e-11, 1e-10, 1e-9)], rel=1e-3)
    assert found[5] > 0
    # What the query alone has is as far.
    assert _scores(name, {"norm": "l2"}, [query, {}, {}], {**query, "d": 1e-9})[0] > 0
    if name == "bow":
        assert found[5] == pytest.approx(1e-9 / np.sqrt(3), rel=1e-6)
        missing = _scores(name, {"norm": "l2"}, [query], {**query, "d": 1e-9})
        assert missing == pytest.approx([1e-9 / np.sqrt(3)], rel=1e-6)


def test_k3_says_how_much_a_repeated_query_word_counts() -> None:
    documents: list[Counts] = [{"a": 1.0, "b": 2.0}, {"b": 1.0}]
    once, thrice = ({"a": count} for count in (1.0, 3.0))
    base = _scores("bm25", {}, documents, once)[0]
    weights = {"inf": 3.0, "0": 1.0, "1": 1.5, "7": 2.4}
    for k3, weight in weights.items():
        assert _scores("bm25", {"k3": k3}, documents, thrice)[0] == pytest.approx(weight * base, rel=1e-12)
        assert _scores("bm25", {"k3": k3}, documents, once)[0] == pytest.approx(base, rel=1e-12)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e4), st.integers(0, 5))
def test_pl2_never_takes_a_shared_word_for_a_fault(count: float, others: float, more: int) -> None:
    documents: list[Counts] = [{"a": count, "b": others}, *({"a": 1.0} for _ in range(more)), {"c": 5.0}]
    found = _scores("pl2", {}, documents, {"a": 1.0})
    assert all(score > 0 for score in found[:-1])
    assert found[-1] == 0


def test_pl2_is_not_surprised_by_a_word_lost_in_a_huge_document() -> None:
    documents: list[Counts] = [{"a": 1.0, "b": 9.0}, {"a": 1.0, "b": 1e6}, *({"c": LARGE} for _ in range(1000))]
    alone, lost, *_ = _scores("pl2", {}, documents, {"a": 1.0})
    assert lost < alone / 2
    # Stirling's series would have grown with the length.
    assert lost < 1


def test_what_rounding_leaves_of_words_that_cancel_out_is_no_direction() -> None:
    vectors = {"up": [0.0, 0.1], "down": [0.0, -0.3], "sky": [0.0, 1.0]}
    collection = Counted([{"up": 3.0, "down": 1.0}], {word: np.array(row, np.float32) for word, row in vectors.items()})
    # Neither in float32 nor in float64 is 3 * 0.1 the same as 0.3.
    for query in ({"sky": 1.0}, {"up": 3.0, "down": 1.0}):
        assert collection.segment().score("interpolation", {"alpha": "1"}, query).tolist() == [0]


def test_words_that_cancel_out_have_no_direction() -> None:
    vectors = {"up": [0, 1], "down": [0, -1], "right": [1, 0]}
    documents: list[Counts] = [{"up": 2.0, "down": 2.0}, {"right": 1.0}, {"stone": 1.0}]
    collection = Counted(documents, {word: np.array(row, np.float32) for word, row in vectors.items()})
    segment = collection.segment()
    assert segment.score("interpolation", {"alpha": "1"}, {"right": 1.0, "up": 1e-9}).tolist() == [0, 1, 0]
    assert segment.score("interpolation", {"alpha": "1"}, documents[0]).tolist() == [0, 0, 0]
    assert segment.score("interpolation", {"alpha": "0.25"}, {}).tolist() == [0, 0, 0]
