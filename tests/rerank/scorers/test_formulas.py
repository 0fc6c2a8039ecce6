"""Properties of single scorers beyond the contract."""

import numpy as np
import pytest

from moverank.rerank.testing.sample_counts import Counted, Counts


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
