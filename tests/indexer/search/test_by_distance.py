"""Hits, their order and their certificate, against brute force through POT."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Collection, Document
from moverank.indexer.values.ranking_spec import PAPER_GAMMA
from moverank.rerank.ranking import DISTANCES
from tests.indexer.search.conftest import Searchable
from tests.indexer.world import (
    WORDS,
    MakeCollection,
    Twin,
    check_exact,
    check_sound,
    document,
    snapshot_above,
)
from tests.samples import examples

FACTORIES = ("IDMap2,Flat", "Flat", "HNSW32", "IDMap2,HNSW16", "IVF4,Flat", "PCA4,Flat", "PCA2,Flat", "SQ8", "PQ2x4")
_GAMMAS = (0.0, 0.75)
_QUERIES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


@pytest.mark.parametrize("faiss", FACTORIES)
@examples(0.25)
@given(
    query=_QUERIES,
    k=st.integers(1, 70),
    extra=st.none() | st.integers(0, 70),
    distance=st.sampled_from(DISTANCES),
    stored_gamma=st.sampled_from(_GAMMAS),
    gamma=st.sampled_from([None, 0.0, 0.3, 0.75]),
    weights=st.sampled_from(["tf", "tfidf"]),
    label=st.sampled_from([None, "red", "blue"]),
)
def test_distances_are_exact_and_certificates_agree_with_brute_force(
    searchable: Searchable,
    faiss: str,
    query: str,
    k: int,
    extra: int | None,
    distance: Any,
    stored_gamma: float,
    gamma: float | None,
    weights: str,
    label: str | None,
) -> None:
    collection, twin = searchable.of(faiss=faiss, gamma=stored_gamma, weights=weights)
    if distance == "wmd":
        gamma = None
    default_gamma = {"wmd": 0.0, "pwmd": stored_gamma or PAPER_GAMMA}.get(distance, stored_gamma)
    expected = twin.distances(query, distance, default_gamma if gamma is None else gamma)
    if label:
        expected = {key: value for key, value in expected.items() if twin.documents[key].label == label}
    where = {"label": [label]} if label else None
    depth = None if extra is None else k + extra
    ranking = collection.search(query, k=k, depth=depth, distance=distance, gamma=gamma, where=where)
    check_sound(ranking, expected, k)
    assert len(ranking.hits) == min(k, len(expected))
    assert ranking.counts.candidates == min(len(expected), depth or len(expected))
    if depth is None or depth >= len(expected):
        assert ranking.certified
        check_exact(ranking, expected, k)


@pytest.mark.parametrize("weights", ["tf", "tfidf"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_exact_search_equals_brute_force(searchable: Searchable, distance: Any, weights: str) -> None:
    collection, twin = searchable.flat(weights=weights, gamma=0.75)
    gamma = 0.0 if distance == "wmd" else 0.75
    ranking = collection.search("ant dog dog", k=10, exact=True, distance=distance)
    check_exact(ranking, twin.distances("ant dog dog", distance, gamma), 10)
    assert (ranking.certified, ranking.scope) == (True, "collection")


@pytest.mark.parametrize("label", [None, "red"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_idf_is_multiplied_during_the_search(
    searchable: Searchable, distance: Any, label: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a large collection: a filter that keeps most documents included."""
    monkeypatch.setattr("moverank.indexer.search.segments.ENTRIES", 0)
    for module in ("nearest", "cascade"):
        monkeypatch.setattr(f"moverank.rerank.distance.{module}.FEW_DOCUMENTS", 0)
    stored, twin = searchable.flat(weights="tfidf")
    where = [f"label={label}"] if label else None
    with Collection.open(stored.path) as collection:
        found = collection.search("ant dog dog", k=10, distance=distance, gamma=0.0, where=where)
    expected = twin.distances("ant dog dog", distance, 0.0)
    kept = {key: value for key, value in expected.items() if label in (None, twin.documents[key].label)}
    check_exact(found, kept, 10)


def test_few_candidates_can_suffice_for_a_certificate(searchable: Searchable) -> None:
    collection, twin = searchable.flat()
    ranking = collection.search("lark", k=3, depth=4)
    assert ranking.certified
    check_exact(ranking, twin.distances("lark"), 3)
    assert not collection.search("lark ant", k=3, depth=4).certified


def _words_and_pairs() -> list[Document]:
    """Return documents of one or two words: for many the centroid distance is the WMD, or just below it."""
    pairs = [f"{one} {other}" for one, other in combinations(WORDS, 2)]
    return [document(text, text) for text in [*WORDS, *pairs]]


@pytest.mark.parametrize(
    ("faiss", "snapshot"), [("IDMap2,Flat", True), ("IDMap2,Flat", False), ("PCA2,Flat", True), ("PQ2x4", True)]
)
def test_certificates_are_correct_where_bounds_are_close(
    make_collection: MakeCollection, faiss: str, snapshot: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot_above(monkeypatch, 0 if snapshot else 999)
    collection, twin = make_collection(faiss=faiss), Twin.of(_words_and_pairs())
    collection.index(twin.documents.values())
    certified = 0
    for query in (*WORDS[:4], "ant bee", "elk fox gnu"):
        expected = twin.distances(query)
        for k in (1, 2, 5):
            for depth in (k, k + 4, 3 * k + 20):
                ranking = collection.search(query, k=k, depth=depth)
                check_sound(ranking, expected, k)
                certified += ranking.certified
    # An approximate index may miss documents: it proves nothing except that no distance is below 0.
    exact_index = faiss == "IDMap2,Flat" or not snapshot
    assert certified > 20 if exact_index else certified <= 6 * 3


@pytest.mark.parametrize("query", ["lark", "ant dog", "elk fox gnu"])
@pytest.mark.parametrize("faiss", FACTORIES)
def test_candidates_followed_by_all_others_are_exact(searchable: Searchable, faiss: str, query: str) -> None:
    collection, twin = searchable.of(faiss=faiss, gamma=0.0)
    ranking = collection.search(query, k=5, depth=8, exact=True)
    assert (ranking.certified, ranking.scope) == (True, "collection")
    check_exact(ranking, twin.distances(query), 5)


@given(query=_QUERIES, k=st.integers(1, 70), depth=st.none() | st.integers(70, 80), checks=st.integers(0, 6))
def test_the_error_bound_holds_when_the_time_is_up(
    searchable: Searchable, query: str, k: int, depth: int | None, checks: int
) -> None:
    collection, twin = searchable.flat()
    expected = twin.distances(query)
    with pytest.MonkeyPatch.context() as patch:
        # The clock stands still for some checks, then the time is up.
        clock: Iterator[float] = iter([0.0] * checks)
        patch.setattr("moverank.indexer.search.by_distance.time.monotonic", lambda: next(clock, 2.0))
        ranking = collection.search(query, k=k, depth=depth, budget=1)
    check_sound(ranking, expected, k)
    assert len(ranking.hits) == min(k, len(expected))


def test_a_sufficient_budget_changes_nothing(searchable: Searchable) -> None:
    collection, _ = searchable.flat()
    without, generous = collection.search("ant dog", k=5), collection.search("ant dog", k=5, budget=1000)
    assert generous.certified
    assert generous.hits == without.hits


def test_certified_is_a_python_bool(searchable: Searchable) -> None:
    """JSON cannot represent a bool of numpy."""
    collection, _ = searchable.flat()
    rankings = [collection.search("lark", k=3, depth=4), collection.search("ant dog", k=3, depth=4)]
    assert [type(ranking.certified) for ranking in rankings] == [bool, bool]


def test_centroids_of_other_weights_prove_nothing(searchable: Searchable) -> None:
    collection, _ = searchable.flat()
    # Except that no distance is below 0: hits at distance 0 are certified.
    assert collection.search("lark", k=3, depth=4, gamma=0.5).certified
    assert not collection.search("lark", k=4, depth=5, gamma=0.5).certified
    tfidf, _ = searchable.flat(weights="tfidf")
    assert not tfidf.search("lark", k=4, depth=5).certified


@pytest.mark.parametrize("faiss", FACTORIES)
def test_removed_and_changed_documents_are_no_hits(searchable: Searchable, faiss: str) -> None:
    collection, twin = searchable.of(faiss=faiss, gamma=0.0)
    for query in ("ant bee", "ant bee cat", "lark"):
        expected = twin.distances(query)
        for k in (1, 9, 60):
            check_sound(collection.search(query, k=k, depth=k), expected, k)


def test_query_words_of_no_document_count(make_collection: MakeCollection) -> None:
    collection, twin = make_collection(), Twin.of([document("a", "ant bee"), document("b", "cat")])
    collection.index(twin.documents.values())
    check_exact(collection.search("fox ant zorp"), twin.distances("fox ant zorp"), 10)


def test_an_empty_collection_has_no_hits(make_collection: MakeCollection) -> None:
    ranking = make_collection().search("ant")
    assert ranking.hits == ()
    assert ranking.certified


def test_a_stopped_search_ends_early_with_sound_hits(searchable: Searchable) -> None:
    collection, twin = searchable.of()
    calls: list[None] = []

    def stop() -> bool:
        calls.append(None)
        return True

    ranking = collection.search("ant dog elk fox", k=3, stop=stop)
    assert calls
    assert len(ranking.hits) == 3
    check_sound(ranking, twin.distances("ant dog elk fox"), 3)
    never = collection.search("ant dog elk fox", k=3, stop=lambda: False)
    assert never.certified
    assert [hit.key for hit in never.hits] == [hit.key for hit in collection.search("ant dog elk fox", k=3).hits]
