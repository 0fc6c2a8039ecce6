"""The flows behind a distance, and the bounds that exclude a document."""

import math
from typing import Any

import pytest

from moverank import UnknownKey, UsageError
from tests.indexer.search.conftest import Searchable
from tests.indexer.world import known_words


@pytest.mark.parametrize("gamma", [0.0, 0.75])
@pytest.mark.parametrize("weights", ["tf", "tfidf"])
def test_flows_add_up_to_the_distance(searchable: Searchable, gamma: float, weights: str) -> None:
    collection, twin = searchable.flat(gamma=gamma, weights=weights)
    ranking = collection.search("ant bee zorp dog", k=4, explained=True)
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
