"""From options, a text or a key to a query: filters, words, default depth, and invalid arguments."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from moverank import Collection, UnknownKey, UsageError
from moverank.indexer.values.search_options import Where
from moverank.rerank.errors import NoKnownWords
from tests.indexer.search.conftest import Searchable
from tests.indexer.world import check_exact, check_sound, document

pytestmark = pytest.mark.store

_FILTERS: list[tuple[Where, Callable[[Any], object]]] = [
    ({"label": ["red"]}, lambda one: one.label == "red"),
    ({"label": ["red", "blue"]}, lambda one: one.label in ("red", "blue")),
    ({"year": ["1993"]}, lambda one: one.metadata.get("year") == 1993),
    ({"open": ["true"]}, lambda one: one.metadata.get("open") is True),
    ({"half": ["1.5", "2.0"]}, lambda one: one.metadata.get("half") in (1.5, 2.0)),
    ({"tags": ["t1"]}, lambda one: "t1" in one.metadata.get("tags", [])),
    ({"tags": ["t1"], "label": ["green"]}, lambda _: False),
    ({"tags": ["t1", "t2"], "open": ["false"]}, lambda one: {"t1", "t2"} & {*one.metadata.get("tags", [])}
     and not one.metadata["open"]),
    ({"label": ["pink"]}, lambda _: False),
    ({"label": []}, lambda _: False),
    ({}, lambda _: True),
    ("year>=1993", lambda one: one.metadata.get("year", 0) >= 1993),
    (["year>1990", "year<1995", "label!=red"], lambda one: 1990 < one.metadata.get("year", 0) < 1995
     and one.label != "red"),
    (["half=1.50", "half=2"], lambda one: one.metadata.get("half") in (1.5, 2.0)),
    ("open=True", lambda one: one.metadata.get("open") is True),
    (["!tags", "label^=r"], lambda one: not one.metadata.get("tags") and (one.label or "").startswith("r")),
    ("!label", lambda one: one.label is None),
]  # fmt: skip


@pytest.mark.parametrize("faiss", ["IDMap2,Flat", "HNSW32", "IVF4,Flat", "SQ8"])
def test_a_filter_applies_before_candidates_are_chosen(
    searchable: Searchable, faiss: str, subtests: pytest.Subtests
) -> None:
    collection, twin = searchable.of(faiss=faiss, gamma=0.0)
    distances = twin.distances("ant bee")
    for where, accepts in _FILTERS:
        expected = {key: value for key, value in distances.items() if accepts(twin.documents[key])}
        with subtests.test(where=where):
            check_exact(collection.search("ant bee", k=70, where=where), expected, 70)
            ranking = collection.search("ant bee", k=2, depth=2, where=where)
            check_sound(ranking, expected, 2)
            assert len(ranking.hits) == min(2, len(expected))


def test_an_unknown_field_lists_the_fields(searchable: Searchable, collection: Collection) -> None:
    filled, _ = searchable.flat()
    with pytest.raises(
        UsageError, match="no document has a field 'colour': the fields are half, label, open, tags, year"
    ):
        filled.search("ant", where={"colour": ["red"]})
    collection.index([document("a", "ant")])
    with pytest.raises(UsageError, match="no document has any field"):
        collection.search("ant", where={"label": ["red"]})


def test_a_single_filter_value_needs_no_list(searchable: Searchable) -> None:
    collection, _ = searchable.flat()
    assert {hit.label for hit in collection.search("ant", k=9, where={"label": "red"}).hits} == {"red"}


def test_similar_excludes_the_document_itself(searchable: Searchable) -> None:
    collection, twin = searchable.flat(gamma=0.75)
    for key in ("d3", "d55", "far1"):
        expected = twin.distances(twin.documents[key], gamma=0.75)
        del expected[key]
        check_exact(collection.similar(key, k=5), expected, 5)
        check_sound(collection.similar(key, k=5, depth=7), expected, 5)
    assert [hit.key for hit in collection.similar("far1", k=2).hits] == ["far0", "far2"]


def test_documents_that_are_unknown_or_have_no_bag_are_refused(searchable: Searchable) -> None:
    collection, _ = searchable.flat()
    with pytest.raises(UnknownKey, match="no document with the key 'gone1'"):
        collection.similar("gone1")
    with pytest.raises(NoKnownWords, match="no word with a vector: it cannot be compared"):
        collection.similar("none")
    with pytest.raises(NoKnownWords, match="cannot be compared"):
        collection.explain("ant", "none")
    with pytest.raises(UnknownKey):
        collection.explain("ant", "nobody")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "the query '' has no word that the collection has a vector for: it is empty"),
        (" \n", "the query '' has no word that the collection has a vector for: it is empty"),
        ("of the The", "the query 'of the The' .*: all of its words are stop words"),
        ("zorp of quux", "the query 'zorp of quux' has no word that the collection has a vector for$"),
        ("zorp " * 50, r"the query '(zorp ){12}' has"),
    ],
)
def test_a_query_without_a_word_vector_is_refused(searchable: Searchable, query: str, message: str) -> None:
    collection, _ = searchable.flat()
    with pytest.raises(NoKnownWords, match=message):
        collection.search(query)
    with pytest.raises(NoKnownWords, match=message):
        collection.explain(query, "d1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be a whole number of 1 or more, not 0"),
        ({"k": 3, "depth": 2}, "depth must be at least k, which is 3, not 2"),
        ({"k": 3, "depth": 0}, "depth must be a whole number of 1 or more"),
        ({"budget": 0}, "the budget must be a number of seconds above 0, not 0"),
        ({"budget": math.nan}, "the budget must be a number of seconds above 0"),
        (
            {"distance": "cosinus"},
            "there is no ranking 'cosinus' .did you mean cosine\\?.: choose auto",
        ),
        ({"gamma": -0.5}, "gamma must be a number of 0 or more, not -0.5"),
        ({"gamma": math.nan}, "gamma must be a number"),
        ({"gamma": math.inf}, "gamma must be a number"),
        ({"distance": "wmd", "gamma": 0.5}, "wmd weighs all parts alike"),
    ],
)
def test_invalid_options_are_refused(searchable: Searchable, options: Any, message: str) -> None:
    collection, _ = searchable.flat()
    with pytest.raises(UsageError, match=message):
        collection.search("d1 ant", **options)
    with pytest.raises(UsageError, match=message):
        collection.similar("d1", **options)


def test_a_very_large_collection_is_searched_by_candidates_by_default(
    searchable: Searchable, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection, twin = searchable.flat()
    monkeypatch.setattr("moverank.indexer.search.query_parser.EXACT_UP_TO", 20)
    monkeypatch.setattr("moverank.indexer.search.query_parser.DEFAULT_DEPTH", 12)
    assert collection.search("ant dog", k=5).counts.candidates == 12
    assert collection.search("ant dog", k=15).counts.candidates == 15
    check_exact(collection.search("ant dog", k=5, exact=True), twin.distances("ant dog"), 5)


def test_a_filter_is_applied_to_the_current_state(collection: Collection) -> None:
    collection.index([document(f"d{i}", "ant", metadata={"n": i}) for i in range(12)])
    for least in [*range(12), 0]:
        hits = collection.search("ant", k=99, where=f"n>={least}").hits
        assert {hit.key for hit in hits} == {f"d{i}" for i in range(least, 12)}
    collection.index([document("d0", "ant", metadata={"n": 12}), document("new", "ant", metadata={"n": 12})])
    assert {hit.key for hit in collection.search("ant", where="n>=11").hits} == {"d0", "d11", "new"}
    with Collection.open(collection.path) as other:
        other.index([document("newer", "ant", metadata={"n": 12})])
    if not collection._store.shared:  # noqa: SLF001 - in PostgreSQL, searches follow the changes of others
        assert len(collection.search("ant", where="n>=11").hits) == 3
    collection.refresh()
    assert len(collection.search("ant", where="n>=11").hits) == 4
