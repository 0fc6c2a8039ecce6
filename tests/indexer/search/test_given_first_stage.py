"""The first stage over given vectors: its candidates are the nearest by brute force, and are reranked exactly."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from moverank import Collection, CollectionError, Document, Part, QueryVectorError, SettingsError, UsageError
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.values.given_vectors import VectorMetric
from tests.indexer.given import (
    METRICS,
    candidates_of,
    costs,
    documents_with_vectors,
    nearest,
    random_vectors,
    with_vectors,
)
from tests.indexer.stored_state import only_snapshot, snapshots
from tests.indexer.world import MakeCollection, Twin, check_exact, check_sound, document, snapshot_above

QUERIES = random_vectors(5, seed=99)


def given(make_collection: MakeCollection, metric: VectorMetric = "cosine", **choices: object) -> Collection:
    """Return an empty collection whose first stage is `given`."""
    return make_collection(first_stage="given", first_stage_options=(f"metric={metric}",), **choices)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("small_tail", [0, 20, 999])
def test_candidates_are_the_nearest_by_brute_force(
    make_collection: MakeCollection, monkeypatch: pytest.MonkeyPatch, metric: VectorMetric, small_tail: int
) -> None:
    """In a snapshot, in the tail, and in both."""
    snapshot_above(monkeypatch, small_tail)
    collection, documents = given(make_collection, metric), documents_with_vectors(60)
    collection.index(documents[:45])
    collection.index(documents[45:])
    assert bool(snapshots(collection)) == (small_tail < 60)
    for query in QUERIES:
        assert candidates_of(collection, query, 7) == nearest(documents, query, metric, 7)
    assert check_collection(collection.path).sentences() == ()


@pytest.mark.slow
@pytest.mark.usefixtures("always_compact")
@pytest.mark.parametrize("faiss", ["auto", "IDMap2,Flat", "HNSW32", "SQ8", "IVF4,Flat", "HR,RaBitQ"])
@pytest.mark.parametrize("metric", METRICS)
def test_every_kind_of_index_finds_most_of_the_nearest(
    make_collection: MakeCollection, metric: VectorMetric, faiss: str
) -> None:
    collection, documents = given(make_collection, metric, faiss=faiss), documents_with_vectors(300)
    collection.index(documents)
    shares = [
        len(candidates_of(collection, query, 60) & nearest(documents, query, metric, 10)) / 10 for query in QUERIES
    ]
    assert np.mean(shares) > 0.7
    index = collection.index_in_use()
    assert index is not None
    assert (index.documents, index.dim) == (300, 5)


@pytest.mark.usefixtures("always_compact")
@pytest.mark.parametrize("metric", METRICS)
def test_hits_are_exact_among_the_candidates(make_collection: MakeCollection, metric: VectorMetric) -> None:
    collection, twin = given(make_collection, metric), Twin.of(documents_with_vectors(60))
    collection.index(twin.documents.values())
    expected = twin.distances("ant bee")
    for query in QUERIES:
        ranking = collection.search("ant bee", k=3, depth=12, vector=query)
        near = nearest(twin.documents.values(), query, metric, 12)
        check_exact(ranking, {key: expected[key] for key in near}, 3)
        proven = collection.search("ant bee", k=3, depth=12, vector=query, exact=True)
        check_exact(proven, expected, 3)
        assert proven.certified
    assert not collection.search("lark lark ant", k=1, depth=59, vector=QUERIES[0]).certified


@pytest.mark.parametrize("compact", [True, False])
def test_documents_without_a_vector_are_no_candidates_but_found_otherwise(
    make_collection: MakeCollection, monkeypatch: pytest.MonkeyPatch, *, compact: bool
) -> None:
    snapshot_above(monkeypatch, 0 if compact else 999)
    some, others = documents_with_vectors(20), [document(f"w{i}", "ant bee") for i in range(20)]
    collection, twin = given(make_collection), Twin.of([*some, *others])
    collection.index(twin.documents.values())
    assert candidates_of(collection, QUERIES[0], 30) == {one.key for one in some}
    check_exact(collection.search("ant", k=40), twin.distances("ant"), 40)
    check_exact(collection.search("ant", k=30, depth=30, exact=True, vector=QUERIES[0]), twin.distances("ant"), 30)
    assert {hit.key for hit in collection.search("ant", k=40, rank="vector", vector=QUERIES[0]).hits} == {
        one.key for one in some
    }
    assert check_collection(collection.path).sentences() == ()


@pytest.mark.parametrize("metric", METRICS)
def test_the_term_vector_is_the_distance_by_given_vectors(
    make_collection: MakeCollection, metric: VectorMetric
) -> None:
    collection, documents = given(make_collection, metric), documents_with_vectors(30)
    collection.index(documents)
    expected = costs(documents, QUERIES[0], metric)
    sign = -1 if metric == "ip" else 1
    hits = collection.search("ant", k=30, rank="vector", vector=QUERIES[0]).hits
    assert [hit.key for hit in hits] == sorted(expected, key=expected.__getitem__)
    assert [dict(hit.parts)["vector"] for hit in hits] == pytest.approx(
        [sign * expected[hit.key] for hit in hits], abs=1e-5
    )
    plain = Twin.of(documents).distances("ant bee")
    low, high = min(expected.values()), max(expected.values())
    cost = {key: (value - low) / (high - low) if metric == "ip" else value for key, value in expected.items()}
    ranking = collection.search("ant bee", k=30, rank="wmd+0.5*vector", vector=QUERIES[0])
    assert ranking.certified
    for hit in ranking.hits:
        assert hit.distance == pytest.approx(plain[hit.key], rel=1e-6)
    # The distance is divided by the typical one, which is the same for all.
    rest = np.array([float(hit.total or 0) - 0.5 * cost[hit.key] for hit in ranking.hits])
    distances = np.array([hit.distance for hit in ranking.hits])
    assert rest == pytest.approx(distances * rest.sum() / distances.sum(), abs=1e-6)
    assert [hit.total for hit in ranking.hits] == sorted(float(hit.total or 0) for hit in ranking.hits)


@pytest.mark.usefixtures("always_compact")
def test_similar_uses_the_stored_vector(make_collection: MakeCollection) -> None:
    collection, documents = given(make_collection), documents_with_vectors(40)
    collection.index([*documents, document("none", "ant bee")])
    for one in documents[:5]:
        others = [other for other in documents if other.key != one.key]
        ranking = collection.similar(one.key, k=6, depth=6)
        assert {hit.key for hit in ranking.hits} == nearest(others, np.array(one.vector, np.float32), "cosine", 6)
    assert len(collection.similar("none", k=3).hits) == 3
    with pytest.raises(QueryVectorError, match="document 'none' has no vector"):
        collection.similar("none", k=3, depth=5)
    (problem,) = collection.similar_many(["none"], k=3, depth=5)
    assert problem.problem is not None
    assert "'none' has no vector" in problem.problem


def test_a_query_needs_a_vector_only_where_candidates_are_chosen(make_collection: MakeCollection) -> None:
    collection = given(make_collection)
    collection.index(with_vectors([document(f"d{i}", "ant", label="red" if i < 3 else "blue") for i in range(9)]))
    free: list[dict[str, Any]] = [{}, {"depth": 9}, {"exact": True}, {"depth": 3, "where": ["label=red"]}]
    for options in free:
        assert collection.search("ant", k=3, **options).hits
    for options in ({"depth": 5}, {"depth": 5, "exact": True}, {"rank": "wmd+vector"}, {"rank": "vector"}):
        with pytest.raises(QueryVectorError, match="the query has no vector, which the first stage `given` compares"):
            collection.search("ant", k=3, **options)
        assert collection.search("ant", k=3, vector=QUERIES[0], **options).hits
    with pytest.raises(QueryVectorError, match="4 numbers, those of the documents have 5"):
        collection.search("ant", k=3, vector=[1, 2, 3, 4])


def test_queries_of_a_batch_have_their_own_vectors(make_collection: MakeCollection) -> None:
    collection, documents = given(make_collection), documents_with_vectors(30)
    collection.index(documents)
    asked = [Document("", parts=(Part("ant bee"),), vector=query) for query in QUERIES]
    bad = [Document("", parts=(Part("ant bee"),), vector=vector) for vector in (None, [1.0], [float("nan")] * 5)]
    rankings = list(collection.search_many([*asked, *bad], k=5, depth=5))
    for ranking, query in zip(rankings, QUERIES, strict=False):
        assert {hit.key for hit in ranking.hits} == nearest(documents, query, "cosine", 5)
    problems = [ranking.problem or "" for ranking in rankings[5:]]
    assert ["no vector" in problems[0], "1 numbers" in problems[1], "nan" in problems[2]] == [True] * 3


def test_a_zero_vector_has_no_direction(make_collection: MakeCollection) -> None:
    collection = given(make_collection)
    zero = replace(document("zero", "ant"), vector=[0.0] * 5)
    documents = [*documents_with_vectors(20), zero]
    collection.index(documents)
    assert "zero" not in candidates_of(collection, QUERIES[0], 20)
    collection.change_settings(first_stage="given", first_stage_options=("metric=l2",))
    assert "zero" in candidates_of(collection, np.full(5, 1e-3, np.float32), 3)


@pytest.mark.usefixtures("always_compact")
def test_the_first_stage_can_be_changed_to_given_vectors_and_back(collection: Collection) -> None:
    documents = documents_with_vectors(40)
    collection.index(documents)
    with pytest.raises(UsageError, match="the first stage is centroid, not given"):
        collection.search("ant", vector=QUERIES[0])
    for metric in METRICS:
        collection.change_settings(first_stage="given", first_stage_options=(f"metric={metric}",))
        assert candidates_of(collection, QUERIES[0], 6) == nearest(documents, QUERIES[0], metric, 6)
        collection.index([])
        assert (only_snapshot(collection) / "stage_vectors").exists()
        assert candidates_of(collection, QUERIES[0], 6) == nearest(documents, QUERIES[0], metric, 6)
    collection.refit()
    assert check_collection(collection.path).sentences() == ()
    collection.change_settings(first_stage="fisher", first_stage_options=("k=2",))
    twin = Twin.of(documents)
    check_sound(collection.search("ant", k=2, depth=5), twin.distances("ant"), 2)
    assert [one.vector for one in collection] == [one.vector for one in documents]


def test_a_scorer_can_be_joined(make_collection: MakeCollection) -> None:
    collection = make_collection([*documents_with_vectors(20), document("rare", "quux ant")], first_stage="given+bm25")
    ranking = collection.search("quux ant", k=5, depth=6, vector=QUERIES[0])
    assert "rare" in {hit.key for hit in ranking.hits}


@pytest.mark.parametrize("option", ["metric=dot", "nope=1", "metric"])
def test_invalid_options_are_refused(collection: Collection, option: str) -> None:
    with pytest.raises(UsageError, match=r"metric|KEY=VALUE"):
        collection.change_settings(first_stage="given", first_stage_options=(option,))
    with pytest.raises(UsageError, match="inner products"):
        collection.change_settings(first_stage="given", first_stage_options=("metric=ip",), faiss="PCA4,Flat")
    assert collection.settings.first_stage == "centroid"


def test_vectors_of_another_dimension_are_refused_until_the_old_ones_are_gone(make_collection: MakeCollection) -> None:
    collection, documents = given(make_collection), documents_with_vectors(10)
    collection.index(documents)
    other = [replace(one, vector=random_vectors(1, dim=3)[0]) for one in documents]
    with pytest.raises(UsageError, match="document 'd0' has 3 numbers, those of the collection have 5"):
        collection.index(other)
    assert [one.vector for one in collection] == [one.vector for one in documents]
    without = [replace(one, vector=None) for one in documents]
    assert collection.index(without).updated == 10
    assert collection.index(other).updated == 10
    assert collection.info()["given_dim"] == 3
    query = random_vectors(1, 1, dim=3)[0]
    assert candidates_of(collection, query, 4) == nearest(other, query, "cosine", 4)


def test_an_index_of_an_earlier_dimension_is_not_searched(
    make_collection: MakeCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of its documents have changed, but so few that there is no new snapshot."""
    snapshot_above(monkeypatch, 25)
    collection, documents = given(make_collection), documents_with_vectors(20)
    words = [document(f"w{i}", "ant bee") for i in range(20)]
    collection.index([*documents, *words])
    before = snapshots(collection)
    other = [replace(one, vector=random_vectors(1, i, dim=3)[0]) for i, one in enumerate(documents)]
    collection.index([replace(one, vector=None) for one in documents])
    collection.index(other)
    assert snapshots(collection) == before
    query = random_vectors(1, 50, dim=3)[0]
    assert candidates_of(collection, query, 4) == nearest(other, query, "cosine", 4)
    assert check_collection(collection.path).sentences() == ()


@pytest.mark.parametrize("bad", [[1.0, float("nan"), 0, 0, 0], [float("inf")] * 5, [], [1e16] * 5])
def test_an_unusable_vector_names_its_document(make_collection: MakeCollection, bad: list[float]) -> None:
    with pytest.raises(UsageError, match="the vector of document 'x' "):
        given(make_collection).index([replace(document("x", "ant"), vector=bad)])


def test_vectors_beside_the_records(make_collection: MakeCollection) -> None:
    collection, documents = given(make_collection), documents_with_vectors(12)
    plain = [replace(one, vector=None) for one in documents]
    by_key = {one.key: np.array(one.vector) for one in documents}
    assert collection.index(plain, vectors=by_key).added == 12
    assert collection.index(documents).unchanged == 12
    keys, matrix = list(by_key)[::-1], np.array(list(by_key.values()))[::-1]
    assert collection.index(plain, vectors=(keys, matrix)).unchanged == 12
    assert [one.vector for one in collection] == [one.vector for one in documents]
    changed = by_key | {"d3": -by_key["d3"]}
    assert collection.index(plain, vectors=changed).updated == 1
    for wrong, reason in [
        ((["a"], matrix), "1 keys need a matrix of as many rows"),
        ((keys, matrix[0]), "need a matrix"),
        ((["a"] * 12, matrix), "the key 'a' is given two vectors"),
        ({"d0": "text"}, "document 'd0' must be a list of numbers"),
        ({"d0": matrix}, "document 'd0' must be a list of numbers"),
    ]:
        with pytest.raises(UsageError, match=reason):
            collection.index(plain, vectors=wrong)  # type: ignore[arg-type]


@pytest.mark.usefixtures("always_compact")
def test_nothing_is_found_without_any_vector(make_collection: MakeCollection) -> None:
    collection = given(make_collection)
    collection.index([document(f"d{i}", "ant") for i in range(5)])
    assert collection.search("ant", k=2, depth=2, vector=[1.0, 2.0]).hits == ()
    assert len(collection.search("ant", k=2).hits) == 2
    assert check_collection(collection.path).sentences() == ()


def test_settings_that_are_final_stay_final(make_collection: MakeCollection) -> None:
    with pytest.raises(SettingsError):
        given(make_collection).change_settings(stop_words=("x",))
    assert issubclass(QueryVectorError, UsageError)
    assert not issubclass(QueryVectorError, CollectionError)
