import asyncio
from pathlib import Path
from typing import Any

import pytest

from moverank import Reranker
from tests.rerank.plugins.adapters import small_world as world

pytest.importorskip("rerankers")
from rerankers import Document
from rerankers.results import RankedResults

from moverank.rerank.plugins.adapters.rerankers import MoverankRanker

KEYS, TEXTS = list(world.TEXTS), list(world.TEXTS.values())


def _documents() -> list[Document]:
    return [Document(text, doc_id=key, metadata={"length": len(text)}) for key, text in world.TEXTS.items()]


def _ids(results: RankedResults) -> list[Any]:
    return [result.doc_id for result in results]


def test_texts_come_back_by_distance_with_their_ids(ranker: Reranker) -> None:
    results = MoverankRanker(ranker).rank(world.QUERY, TEXTS, KEYS)
    assert isinstance(results, RankedResults)
    assert (results.query, results.has_scores, results.results_count()) == (world.QUERY, True, len(KEYS))
    assert _ids(results) == world.order()
    assert [result.rank for result in results] == list(range(1, len(KEYS) + 1))
    for key, distance in world.nearest().items():
        assert results.get_score_by_docid(key) == pytest.approx(1 / (1 + distance))
    assert [result.doc_id for result in results.top_k(3)] == world.order()[:3]
    assert [result.status for result in results] == ["exact"] * (len(KEYS) - 1) + ["wordless"]


def test_documents_keep_their_metadata(ranker: Reranker) -> None:
    documents = _documents()
    results = MoverankRanker(ranker).rank(world.QUERY, documents)
    assert _ids(results) == world.order()
    assert {result.document for result in results} == set(documents)
    assert all(result.metadata == {"length": len(result.text)} for result in results)
    one = MoverankRanker(ranker).rank(world.QUERY, documents[0])
    assert _ids(one) == ["far"]


def test_metadata_of_texts(ranker: Reranker) -> None:
    results = MoverankRanker(ranker).rank("cat", ["roof", "cat"], metadata=[{"n": 0}, {"n": 1}])
    assert [(result.doc_id, result.metadata) for result in results] == [(1, {"n": 1}), (0, {"n": 0})]


def test_k_is_the_number_of_exact_results(ranker: Reranker) -> None:
    counting = world.CountingRanker(ranker)
    results = MoverankRanker(counting, k=2).rank(world.QUERY, TEXTS, KEYS)
    assert _ids(results)[:2] == world.order()[:2]
    assert set(_ids(results)) == set(KEYS)
    assert counting.depths == [2]


def test_the_score_of_one_text_is_that_of_the_ranking(ranker: Reranker) -> None:
    results = MoverankRanker(ranker).rank(world.QUERY, TEXTS, KEYS)
    assert MoverankRanker(ranker).score(world.QUERY, world.TEXTS["near"]) == results.get_score_by_docid("near")


def test_it_is_asynchronous(ranker: Reranker) -> None:
    assert _ids(asyncio.run(MoverankRanker(ranker).rank_async(world.QUERY, TEXTS, KEYS))) == world.order()


def test_no_texts_and_no_known_words(ranker: Reranker) -> None:
    assert MoverankRanker(ranker).rank(world.QUERY, []).results == []
    results = MoverankRanker(ranker).rank(world.UNKNOWN, TEXTS)
    assert _ids(results) == list(range(len(TEXTS)))
    assert {result.status for result in results} == {"unranked"}


def test_a_path_is_loaded(vectors_file: Path) -> None:
    assert _ids(MoverankRanker(str(vectors_file), rank="wmd").rank(world.QUERY, TEXTS, KEYS)) == world.order()


def test_invalid_arguments_are_named(ranker: Reranker) -> None:
    with pytest.raises(ValueError, match="k must be a whole number of 1 or more, or None for all, not 0"):
        MoverankRanker(ranker, k=0)
    with pytest.raises(ValueError, match=r"the ranker must be a moverank\.Reranker or the path"):
        MoverankRanker(TEXTS)  # type: ignore[arg-type]


def test_the_first_results_have_highlights(ranker: Reranker) -> None:
    results = list(MoverankRanker(ranker, k=2, highlight=True).rank(world.QUERY, TEXTS, KEYS))
    for result in results[:2]:
        assert result.highlights
        assert all(result.text[one.start : one.end] == one.word for one in result.highlights)
    assert all(not result.highlights for result in results[2:])
    assert all(not result.highlights for result in MoverankRanker(ranker).rank(world.QUERY, TEXTS, KEYS))


def test_the_first_results_have_passages(ranker: Reranker) -> None:
    results = list(MoverankRanker(ranker, k=2, passage=2).rank(world.QUERY, TEXTS, KEYS))
    for result in results[:2]:
        assert result.passage is not None
        assert result.text[result.passage.start : result.passage.end] == result.passage.text
    assert all(result.passage is None for result in results[2:])
    with pytest.raises(ValueError, match="passage must be a whole number of words of 1 or more"):
        MoverankRanker(ranker, passage=0)


def test_without_a_file_words_alone_rank() -> None:
    assert _ids(MoverankRanker().rank(world.QUERY, TEXTS, KEYS)) == world.order_by_words()
