"""Stored candidates are ranked as a search ranks them among all documents; all of them come back."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from moverank import NoKnownWords, UnknownKey, UsageError
from moverank.indexer.store import Reader
from tests.indexer.search.conftest import Searchable

RANKS = ("wmd", "wmd+0.4*bm25", "wmd:mu=5,weights=tfidf+0.5*cover+bm25+cosine", "bm25", "rwmd", "wcd", "cosine+bm25")
KEYS = [*(f"d{i}" for i in range(0, 60, 3)), "none", "far1"]


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("k", [None, 4])
def test_totals_are_those_of_a_search(searchable: Searchable, rank: str, k: int | None) -> None:
    collection, _ = searchable.of()
    whole = {hit.key: hit for hit in collection.search("ant bee zorp", k=100, rank=rank, exact=True).hits}
    ranking = collection.rerank("ant bee zorp", KEYS, k, rank=rank)
    assert sorted(hit.key for hit in ranking.hits) == sorted(KEYS)
    assert [KEYS[hit.candidate or 0] for hit in ranking.hits] == [hit.key for hit in ranking.hits]
    expected = [hit for hit in whole.values() if hit.key in KEYS]
    first = ranking.hits[: len(expected) if k is None else k]
    if rank != "bm25":  # a scorer alone is a sum here: smaller totals instead of larger scores
        for hit in first:
            value, other = ((one.distance if one.total is None else one.total) for one in (hit, whole[hit.key]))
            assert hit.exact
            assert value == pytest.approx(other, rel=1e-12)
            assert dict(hit.parts) == pytest.approx(dict(whole[hit.key].parts), nan_ok=True)
    assert [hit.key for hit in first] == [hit.key for hit in expected][: len(first)]
    assert [hit.key for hit in ranking.hits if hit.wordless] == ([] if "bm25" in rank else ["none"])
    for hit in ranking.hits[len(first) :]:
        if hit.key in whole and rank != "bm25":
            bound, other = ((one.distance if one.total is None else one.total) for one in (hit, whole[hit.key]))
            assert bound <= other * (1 + 1e-12)
    assert np.all(np.diff(np.array([hit.score for hit in ranking.hits], np.float32)) < 0)
    assert (ranking.certified, ranking.scope) == (True, "candidates")


def test_titles_and_metadata_are_shown_but_no_text_is_read(
    searchable: Searchable, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection, twin = searchable.of()

    def refuse(_: Reader, __: Sequence[int]) -> dict[int, list[str]]:
        raise AssertionError("a text was read")

    monkeypatch.setattr(Reader, "texts", refuse)
    for hit in collection.rerank("ant", ["d3", "d4"]).hits:
        assert hit.label == twin.documents[hit.key].label
        assert hit.metadata == twin.documents[hit.key].metadata


def test_missing_and_repeated_keys_come_back(searchable: Searchable) -> None:
    collection, _ = searchable.of()
    ranking = collection.rerank("ant bee", ["gone", "d1", "d2", "d1", "never"])
    places = [hit.candidate for hit in ranking.hits]
    assert sorted(places[:3], key=str) == [1, 2, 3]
    assert places.index(1) < places.index(3)
    assert places[3:] == [0, 4]
    assert [hit.wordless for hit in ranking.hits] == [False] * 3 + [True] * 2
    with pytest.raises(UnknownKey, match="none of the candidates: no document has the key 'gone'"):
        collection.rerank("ant", ["gone"])
    assert collection.rerank("ant", []).hits == ()


def test_scores_of_the_engine_are_a_term(searchable: Searchable) -> None:
    collection, _ = searchable.of()
    keys, scores = ["d1", "d2", "d3", "d4"], [3.0, None, 9.0, 5.0]
    ranking = collection.rerank("ant", keys, scores=scores, rank="vector")
    assert [(hit.key, hit.total) for hit in ranking.hits[:3]] == [("d3", 0), ("d4", pytest.approx(4 / 6)), ("d1", 1)]
    by_key = collection.rerank("ant", keys, scores=dict(zip(keys, scores, strict=True)), rank="wmd+2*vector")
    wmd = {hit.key: hit for hit in collection.rerank("ant", keys, rank="wmd+0.000001*bm25").hits}
    for hit in by_key.hits:
        cost = {"d3": 0, "d4": 4 / 6, "d1": 1, "d2": 1}[hit.key]
        assert dict(hit.parts)["wmd"] == dict(wmd[hit.key].parts)["wmd"]
        assert (hit.total or 0) - 2 * cost == pytest.approx((wmd[hit.key].total or 0), abs=1e-4)


@pytest.mark.parametrize(
    ("scores", "message"),
    [([1.0], "a score for each of the 2"), ([1.0, "x"], "must be numbers"), ([1.0, math.inf], "must be finite")],
)
def test_bad_scores_are_refused(searchable: Searchable, scores: list[float], message: str) -> None:
    collection, _ = searchable.of()
    with pytest.raises(UsageError, match=message):
        collection.rerank("ant", ["d1", "d2"], scores=scores, rank="vector")


def test_invalid_arguments_are_refused(searchable: Searchable) -> None:
    collection, _ = searchable.of()
    with pytest.raises(UsageError, match="k must be a whole number of 1 or more, not 0"):
        collection.rerank("ant", ["d1"], k=0)
    with pytest.raises(UsageError, match="put it into a list"):
        collection.rerank("ant", "d1")
    with pytest.raises(NoKnownWords):
        collection.rerank("unheard", ["d1"], rank="wmd")


def test_many_queries_have_the_results_of_each(searchable: Searchable) -> None:
    collection, _ = searchable.of()
    queries, keys = ["ant bee", "unheard", "elk zorp", "fox"], [KEYS, ["d1", "d2"], KEYS[::-1], ["nowhere"]]
    rankings = list(collection.rerank_many(queries, keys, 3, rank="wmd+bm25"))
    for i in (0, 2):
        alone = collection.rerank(queries[i], keys[i], 3, rank="wmd+bm25")
        assert [(hit.key, hit.candidate, hit.total) for hit in rankings[i].hits[:3]] == [
            (hit.key, hit.candidate, hit.total) for hit in alone.hits[:3]
        ]
        assert rankings[i].problem is None
    assert "no word that the collection has a vector for" in str(rankings[1].problem)
    assert [(hit.key, hit.wordless) for hit in rankings[1].hits] == [("d1", True), ("d2", True)]
    assert "none of the candidates" in str(rankings[3].problem)
    assert [hit.key for hit in rankings[3].hits] == ["nowhere"]
