"""The flows behind a distance, and the bounds that exclude a document."""

import math
from typing import Any

import pytest

from moverank import Collection, NoKnownWords, UnknownKey, UsageError
from tests.indexer.search.conftest import Searchable
from tests.indexer.world import MakeCollection, Twin, document, known_words, random_documents


@pytest.mark.parametrize("gamma", [0.0, 0.75])
@pytest.mark.parametrize("weights", ["tf", "tfidf"])
def test_flows_add_up_to_the_distance(searchable: Searchable, gamma: float, weights: str) -> None:
    collection, twin = searchable.flat(gamma=gamma, weights=weights)
    ranking = collection.search("ant bee zorp dog", k=4, explained=True, highlight=True)
    for hit in ranking.hits:
        explanation = collection.explain("ant bee zorp dog", hit.key)
        assert hit.flows == explanation.flows
        assert math.isclose(explanation.distance, hit.distance, rel_tol=1e-9)
        assert math.isclose(sum(flow.mass * flow.cost for flow in hit.flows), hit.distance, rel_tol=1e-9)
        assert math.isclose(sum(flow.mass for flow in hit.flows), 1)
        assert {flow.source for flow in hit.flows} == {"ant", "bee", "dog"}
        assert {flow.target for flow in hit.flows} == known_words(twin.documents[hit.key].parts)
    explanation = collection.explain("ant bee", "d9", gamma=0.3)
    assert math.isclose(explanation.distance, twin.distances("ant bee", gamma=0.3)["d9"], rel_tol=1e-6)


@pytest.mark.parametrize("distance", ["rwmd", "wcd"])
def test_relaxed_distances_have_no_flows(searchable: Searchable, distance: Any) -> None:
    collection, _ = searchable.flat()
    assert all(hit.flows == () for hit in collection.search("ant", explained=True, distance=distance).hits)


def test_an_invalid_gamma_is_refused(searchable: Searchable) -> None:
    collection, _ = searchable.flat()
    with pytest.raises(UsageError, match="gamma must be a number of 0 or more"):
        collection.explain("ant", "d1", gamma=-1)


def test_a_document_is_excluded_by_a_bound_a_distance_or_the_first_stage(searchable: Searchable) -> None:
    collection, twin = searchable.flat()
    distances = twin.distances("ant bee")
    order = sorted(distances, key=distances.__getitem__)
    for key in (order[0], order[5], order[-1]):
        reason = collection.why_not("ant bee", key, k=3)
        assert math.isclose(reason.distance, distances[key], rel_tol=1e-6)
        assert math.isclose(reason.kth, distances[order[2]], rel_tol=1e-6)
        assert (reason.stage == "hit") == (key == order[0])
    assert collection.why_not("ant bee", order[-1], k=1, depth=1).stage == "first stage"
    with pytest.raises(UnknownKey):
        collection.why_not("ant", "nobody")
    with pytest.raises(UsageError, match="only a distance has bounds"):
        collection.why_not("ant", "d1", distance="bm25")


@pytest.mark.parametrize("rank", ["wmd", "pwmd:gamma=0.75", "wmd:mu=5,weights=tfidf+0.5*cover+bm25+cosine"])
def test_two_documents_have_the_distance_of_the_hit(make_collection: MakeCollection, rank: str) -> None:
    collection, documents = make_collection(), random_documents(12, "ant bee", "gnu")
    collection.index(documents)
    gamma = 0.75 if "gamma" in rank else 0.0
    for one in ("d0", "d5"):
        expected = Twin.of(documents).distances(next(each for each in documents if each.key == one), gamma=gamma)
        for hit in collection.similar(one, rank=rank, k=20).hits:
            explanation = collection.explain(similar=one, key=hit.key, rank=rank)
            if "+" not in rank:
                assert explanation.distance == pytest.approx(expected[hit.key], abs=1e-6)
            assert explanation.distance == pytest.approx(hit.distance, abs=1e-9)
            assert (explanation.total is None) == (hit.total is None)
            assert explanation.total == pytest.approx(hit.total)
            assert dict(explanation.parts) == pytest.approx(dict(hit.parts))
            assert sum(flow.mass for flow in explanation.flows) == pytest.approx(1)
        near = [hit.key for hit in collection.similar(one, rank=rank, k=3).hits]
        for key in ("d1", "d2", "d3", "d4"):
            why = collection.why_not(similar=one, key=key, k=3, rank=rank)
            assert (why.stage == "hit") == (key in near)
    assert collection.explain(similar="d0", key="d0", rank=rank).distance == pytest.approx(0, abs=1e-9)


def test_an_explanation_has_one_query(collection: Collection) -> None:
    collection.index(random_documents(2))
    for call in (collection.explain, collection.why_not):
        with pytest.raises(UsageError, match="give one of query and similar"):
            call("ant", "d1", similar="d0")
        with pytest.raises(UsageError, match="give one of query and similar"):
            call(key="d1")
        with pytest.raises(UsageError, match="has its own vector"):
            call(key="d1", similar="d0", vector=[1.0])
        with pytest.raises(UnknownKey, match="no document with the key 'nobody'"):
            call(key="d1", similar="nobody")


def test_a_query_without_a_vector_has_no_flows(collection: Collection) -> None:
    collection.index([document("a", "ant zorp"), document("b", "zorp")])
    for call in (collection.explain, collection.why_not):
        with pytest.raises(NoKnownWords, match="no word that the collection has a vector for: there are no flows"):
            call("zorp", "a", rank="wmd+bm25")
