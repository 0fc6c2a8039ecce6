"""Many queries at once have the results that each has alone."""

from collections.abc import Iterator
from typing import Any

import pytest

from moverank import Collection
from moverank.indexer.search.phases import Search
from moverank.rerank.ranking import Ranking
from tests.indexer.world import WORDS, CollectionFactory, document, random_documents, snapshot_above

QUERIES = [f"{one} {other} {other}" for one in WORDS for other in WORDS[::3]]


@pytest.fixture(scope="module")
def filled(factory: CollectionFactory) -> Iterator[Collection]:
    """Return a collection that is in a snapshot; tests do not change it."""
    with factory.empty() as collection, pytest.MonkeyPatch.context() as patch:
        snapshot_above(patch, 0)
        documents = random_documents(70, seed=3)
        collection.index(documents)
        collection.index([*documents, document("new", "ant bee cat"), document("none", "zorp")])
        yield collection


def _content(ranking: Ranking) -> tuple[list[tuple[str, float]], bool, str | None]:
    return [(hit.key, round(hit.distance, 9)) for hit in ranking.hits], ranking.certified, ranking.problem


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"depth": 9}, {"distance": "rwmd"}, {"gamma": 0.5}, {"exact": True}])
def test_a_batch_equals_single_searches(filled: Collection, options: dict[str, Any]) -> None:
    rankings = [_content(ranking) for ranking in filled.search_many(iter(QUERIES), k=4, **options)]
    assert rankings == [_content(filled.search(query, k=4, **options)) for query in QUERIES]


def test_a_query_without_a_result_does_not_stop_the_batch(filled: Collection) -> None:
    rankings = [*filled.search_many(["zorp", "ant", "", "bee", "quux"], k=2)]
    assert [bool(ranking.hits) for ranking in rankings] == [False, True, False, True, False]
    assert "'zorp' has no word" in (rankings[0].problem or "")
    assert [ranking.certified for ranking in rankings] == [False, True, False, True, False]
    assert [*filled.search_many([])] == []


def test_similar_documents_of_a_batch_equal_single_searches(filled: Collection) -> None:
    keys = ["d3", "nobody", "new", "none", "d4"]
    rankings = [*filled.similar_many(keys, k=3)]
    for key in ("d3", "new", "d4"):
        assert _content(rankings[keys.index(key)]) == _content(filled.similar(key, k=3))
    assert "no document with the key 'nobody'" in (rankings[1].problem or "")
    assert "cannot be compared" in (rankings[3].problem or "")


@pytest.mark.parametrize("rank", ["wmd", "pwmd:gamma=1", "wmd+bm25", "bm25+cosine"])
def test_a_budget_does_not_pay_for_what_is_loaded_once(filled: Collection, rank: str) -> None:
    """The first search by a ranking ends as the second does: where the time limit lets it, after one pass."""
    with Collection.open(filled.path) as collection:
        first, second = (collection.search("ant bee", k=3, rank=rank, budget=1e-9) for _ in range(2))
        assert [hit.key for hit in first.hits] == [hit.key for hit in second.hits]
        assert (first.counts, first.largest_error) == (second.counts, second.largest_error)
        assert collection.search("ant bee", k=3, rank=rank, budget=1e9).certified


def test_an_abandoned_batch_leaves_the_collection_usable(filled: Collection) -> None:
    rankings = filled.search_many(QUERIES, k=2)
    first = next(rankings)
    del rankings
    assert _content(first) == _content(filled.search(QUERIES[0], k=2))


def test_the_first_valid_query_opens_shared_files_before_others_start(
    filled: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    answer = Search.run

    def recorded(*arguments: Any) -> Any:
        events.append("start")
        outcome = answer(*arguments)
        events.append("end")
        return outcome

    monkeypatch.setattr(Search, "run", recorded)
    rankings = [*filled.search_many(["zorp", "quux", *QUERIES[:9]], k=2, depth=5)]
    assert [bool(ranking.hits) for ranking in rankings] == [False, False, *[True] * 9]
    assert events[:2] == ["start", "end"]


def test_parallel_queries_of_a_large_index_do_not_deadlock(filled: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query which runs in the pool must not wait for another task of the pool."""
    queries = ["ant bee", "cat", "dog ant"] * 20
    expected = [filled.search(query, k=3, depth=9) for query in queries]
    monkeypatch.setattr("moverank.indexer.snapshot.faiss_index._LARGE", 0)
    with Collection.open(filled.path) as large:
        rankings = list(large.search_many(queries, k=3, depth=9))
    assert [[hit.key for hit in one.hits] for one in rankings] == [[hit.key for hit in one.hits] for one in expected]
