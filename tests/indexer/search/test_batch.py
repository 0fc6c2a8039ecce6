"""Many questions at once have the answers that each would have alone."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from moverank import Collection
from moverank.indexer.search import batch
from moverank.rerank.ranking import Ranking
from tests.indexer.world import WORDS, Twin, document, random_documents

QUERIES = [f"{one} {other} {other}" for one in WORDS for other in WORDS]


@pytest.fixture
def filled(make: Callable[..., Collection], monkeypatch: pytest.MonkeyPatch) -> Collection:
    """Partly in a snapshot, partly in the tail."""
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 0)
    collection = make()
    collection.index(random_documents(70, seed=3))
    collection.index([*random_documents(70, seed=3), document("new", "ant bee cat"), document("none", "zorp")])
    return collection


def _answer(ranking: Ranking) -> tuple[list[tuple[str, float]], bool, str | None]:
    return [(hit.key, round(hit.distance, 9)) for hit in ranking.hits], ranking.certified, ranking.problem


@pytest.mark.parametrize("options", [{}, {"depth": 9}, {"distance": "rwmd"}, {"gamma": 0.5}, {"exact": True}])
def test_many_queries_have_the_answers_of_each(filled: Collection, options: dict[str, object]) -> None:
    many = [_answer(ranking) for ranking in filled.search_many(iter(QUERIES), k=4, **options)]  # type: ignore[arg-type]
    assert many == [_answer(filled.search(query, k=4, **options)) for query in QUERIES]  # type: ignore[arg-type]


def test_a_query_without_an_answer_does_not_stop_the_others(filled: Collection) -> None:
    rankings = [*filled.search_many(["zorp", "ant", "", "bee", "quux"], k=2)]
    assert [bool(ranking.hits) for ranking in rankings] == [False, True, False, True, False]
    assert "'zorp' has no word" in (rankings[0].problem or "")
    assert [ranking.certified for ranking in rankings] == [False, True, False, True, False]
    assert [*filled.search_many([])] == []


def test_documents_like_many_documents(filled: Collection) -> None:
    keys = ["d3", "nobody", "new", "none", "d4"]
    rankings = [*filled.similar_many(keys, k=3)]
    for key in ("d3", "new", "d4"):
        assert _answer(rankings[keys.index(key)]) == _answer(filled.similar(key, k=3))
    assert "no document with the key 'nobody'" in (rankings[1].problem or "")
    assert "cannot be compared" in (rankings[3].problem or "")


def test_an_abandoned_batch_leaves_the_collection_usable(filled: Collection) -> None:
    many = filled.search_many(QUERIES, k=2)
    first = next(many)
    del many
    assert _answer(first) == _answer(filled.search(QUERIES[0], k=2))


def test_neighbours_are_those_of_brute_force(filled: Collection) -> None:
    twin = Twin()
    twin.add([*random_documents(70, seed=3), document("new", "ant bee cat")])
    told: list[int] = []
    graph = filled.neighbours(3, progress=lambda _task, done, _total, _unit: told.append(done))
    assert sorted(graph.keys) == sorted(twin.documents)
    assert told == list(range(1, 72))
    for place in range(0, 71, 9):
        key = graph.keys[place]
        expected = twin.distances(twin.documents[key])
        del expected[key]
        np.testing.assert_allclose(graph.distances[place], sorted(expected.values())[:3], rtol=1e-6, atol=1e-9)
        for other, far in zip(graph.places[place].tolist(), graph.distances[place].tolist(), strict=True):
            assert far == pytest.approx(expected[graph.keys[other]], rel=1e-6, abs=1e-9)


def test_where_there_are_fewer_neighbours_than_wanted(make: Callable[..., Collection]) -> None:
    collection = make()
    collection.index([document("a", "ant"), document("b", "bee")])
    graph = collection.neighbours(3)
    assert graph.places.tolist() == [[1, -1, -1], [0, -1, -1]]
    assert np.isinf(graph.distances[:, 1:]).all()


def test_the_first_real_question_opens_what_the_others_share(
    filled: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[bool] = []
    alone = batch._alone  # noqa: SLF001 - what runs in the threads

    def watched(*arguments: Any) -> Any:
        begun.append(False)
        outcome = alone(*arguments)
        begun.append(True)
        return outcome

    monkeypatch.setattr(batch, "_alone", watched)
    rankings = [*filled.search_many(["zorp", "quux", *QUERIES[:9]], k=2, depth=5)]
    assert [bool(ranking.hits) for ranking in rankings] == [False, False, *[True] * 9]
    assert begun[:2] == [False, True]


@pytest.mark.usefixtures("always_compact")
def test_questions_side_by_side_do_not_wait_for_each_other(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection.index(random_documents(30))
    queries = ["ant bee", "cat", "dog ant"] * 20
    expected = [collection.search(query, k=3, depth=9) for query in queries]
    # A search that has a thread of the pool to itself must not wait for another one.
    monkeypatch.setattr("moverank.indexer.snapshot.first_stage._LARGE", 0)
    with Collection.open(collection.path) as large:
        found = list(large.search_many(queries, k=3, depth=9))
    assert [[hit.key for hit in one.hits] for one in found] == [[hit.key for hit in one.hits] for one in expected]
