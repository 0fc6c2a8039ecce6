"""What is found, in which order, and what is proven of it: against brute force through POT."""

import math
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moverank import Collection, UnknownKey, UsageError
from moverank.indexer.ranking_spec import PAPER_GAMMA, resolve
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import DISTANCES
from tests.indexer.world import WORDS, Twin, Workshop, check_exact, check_honest, document, random_documents

FACTORIES = ("IDMap2,Flat", "Flat", "HNSW32", "IDMap2,HNSW16", "IVF4,Flat", "PCA4,Flat", "PCA2,Flat", "SQ8", "PQ2x4")
_GAMMAS = (0.0, 0.75)


def _library() -> list[Any]:
    """Sixty threads of two posts; the last few are red and far from any ant."""
    first, second = random_documents(60, seed=2), random_documents(60, seed=3, words=3)
    found = [
        document(
            one.key,
            one.parts[0].text,
            two.parts[0].text,
            label="blue" if i % 2 else "green",
            metadata={"year": 1990 + i % 10, "open": i % 3 == 0, "tags": ["all", f"t{i % 4}"], "half": i / 2},
        )
        for i, (one, two) in enumerate(zip(first, second, strict=True))
    ]
    return [*found, *(document(f"far{i}", "lark lark lark", label="red") for i in range(3)), document("none", "zorp")]


class Searched:
    """Collections of the same documents, one of each kind, partly in a snapshot and partly in the tail."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._opened: dict[str, tuple[Collection, Twin]] = {}

    def of(self, **choices: Any) -> tuple[Collection, Twin]:
        name = repr(choices)
        if name not in self._opened:
            collection, twin = self._workshop.empty(**choices), Twin(weights=choices.get("weights", "tf"))
            gone = [document(f"gone{i}", "ant bee") for i in range(9)]
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 0)
                collection.index([*_library()[:50], *gone, document("d7", "ant bee cat")])
            collection.remove([found.key for found in gone])
            collection.index(_library())
            twin.add(_library())
            self._opened[name] = collection, twin
        return self._opened[name]

    def close(self) -> None:
        for collection, _ in self._opened.values():
            collection.close()


@pytest.fixture(scope="module")
def searched(workshop: Workshop) -> Iterator[Searched]:
    made = Searched(workshop)
    yield made
    made.close()


_QUERY = st.lists(st.sampled_from([*WORDS, "zorp"]), min_size=1, max_size=6).map(" ".join).filter(lambda q: q != "zorp")


@pytest.mark.parametrize("faiss", FACTORIES)
@settings(max_examples=25, deadline=None)
@given(
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
    k=st.integers(1, 70),
    extra=st.none() | st.integers(0, 70),
    distance=st.sampled_from(DISTANCES),
    own=st.sampled_from(_GAMMAS),
    gamma=st.sampled_from([None, 0.0, 0.3, 0.75]),
    weights=st.sampled_from(["tf", "tfidf"]),
    label=st.sampled_from([None, "red", "blue"]),
)
def test_hits_are_true_and_certified_only_where_brute_force_agrees(
    searched: Searched,
    faiss: str,
    query: str,
    k: int,
    extra: int | None,
    distance: Any,
    own: float,
    gamma: float | None,
    weights: str,
    label: str | None,
) -> None:
    collection, twin = searched.of(faiss=faiss, gamma=own, weights=weights)
    if distance == "wmd":
        gamma = None
    used = {"wmd": 0.0, "pwmd": own or PAPER_GAMMA}.get(distance, own) if gamma is None else gamma
    expected = twin.distances(query, distance, used)
    if label:
        expected = {key: far for key, far in expected.items() if twin.documents[key].label == label}
    where = {"label": [label]} if label else None
    depth = None if extra is None else k + extra
    ranking = collection.search(query, k=k, depth=depth, distance=distance, gamma=gamma, where=where)
    check_honest(ranking, expected, k)
    assert len(ranking.hits) == min(k, len(expected))
    assert ranking.counts.candidates == min(len(expected), depth or len(expected))
    if depth is None or depth >= len(expected):
        assert ranking.certified
        check_exact(ranking, expected, k)


@pytest.mark.parametrize("weights", ["tf", "tfidf"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_exact_is_brute_force(searched: Searched, distance: Any, weights: str) -> None:
    collection, twin = searched.of(weights=weights, faiss="IDMap2,Flat", gamma=0.75)
    used = 0.0 if distance == "wmd" else 0.75
    ranking = collection.search("ant dog dog", k=10, exact=True, distance=distance)
    check_exact(ranking, twin.distances("ant dog dog", distance, used), 10)
    assert (ranking.certified, ranking.scope) == (True, "collection")


def test_a_small_depth_can_be_certified(searched: Searched) -> None:
    collection, twin = searched.of(faiss="IDMap2,Flat", gamma=0.0)
    twin_distances = twin.distances("lark")
    ranking = collection.search("lark", k=3, depth=4)
    assert ranking.certified
    check_exact(ranking, twin_distances, 3)
    assert not collection.search("lark ant", k=3, depth=4).certified


def _pairs() -> list[Any]:
    """Every word and every pair of words: many documents are as far as their centroids say, many a little farther."""
    pairs = [f"{one} {other}" for one, other in combinations(WORDS, 2)]
    return [document(text, text) for text in [*WORDS, *pairs]]


@pytest.mark.parametrize(
    ("faiss", "snapshot"), [("IDMap2,Flat", True), ("IDMap2,Flat", False), ("PCA2,Flat", True), ("PQ2x4", True)]
)
def test_no_certificate_is_wrong_where_it_is_close(
    make: Callable[..., Collection], faiss: str, snapshot: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 0 if snapshot else 999)
    collection, twin = make(faiss=faiss), Twin()
    twin.add(_pairs())
    collection.index(twin.documents.values())
    certified = 0
    for query in (*WORDS[:4], "ant bee", "elk fox gnu"):
        expected = twin.distances(query)
        for k in (1, 2, 5):
            for depth in (k, k + 4, 3 * k + 20):
                ranking = collection.search(query, k=k, depth=depth)
                check_honest(ranking, expected, k)
                certified += ranking.certified
    # An index that may overlook documents proves nothing, but that nothing is nearer than 0.
    exact = faiss == "IDMap2,Flat" or not snapshot
    assert certified > 20 if exact else certified <= 6 * 3


@pytest.mark.parametrize("query", ["lark", "ant dog", "elk fox gnu"])
@pytest.mark.parametrize("faiss", FACTORIES)
def test_exact_after_candidates_is_exact(searched: Searched, faiss: str, query: str) -> None:
    collection, twin = searched.of(faiss=faiss, gamma=0.0)
    ranking = collection.search(query, k=5, depth=8, exact=True)
    assert (ranking.certified, ranking.scope) == (True, "collection")
    check_exact(ranking, twin.distances(query), 5)


@settings(max_examples=60, deadline=None)
@given(
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
    k=st.integers(1, 70),
    depth=st.none() | st.integers(70, 80),
    looks=st.integers(0, 6),
)
def test_a_search_that_is_stopped_says_how_wrong_it_may_be(
    searched: Searched, query: str, k: int, depth: int | None, looks: int
) -> None:
    collection, twin = searched.of(faiss="IDMap2,Flat", gamma=0.0)
    expected = twin.distances(query)
    with pytest.MonkeyPatch.context() as patch:
        # The clock stands still for some looks, and then the time is up.
        clock = iter([0.0] * looks)
        patch.setattr("moverank.indexer.search.by_distance.time.monotonic", lambda: next(clock, 2.0))
        ranking = collection.search(query, k=k, depth=depth, budget=1)
    check_honest(ranking, expected, k)
    assert len(ranking.hits) == min(k, len(expected))


def test_a_budget_that_is_enough_changes_nothing(searched: Searched) -> None:
    collection, _ = searched.of(faiss="IDMap2,Flat", gamma=0.0)
    plain, generous = collection.search("ant dog", k=5), collection.search("ant dog", k=5, budget=1000)
    assert generous.certified
    assert generous.hits == plain.hits


def test_a_very_large_collection_is_searched_by_candidates_unless_asked(
    searched: Searched, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection, twin = searched.of(faiss="IDMap2,Flat", gamma=0.0)
    monkeypatch.setattr("moverank.indexer.search.searcher.EXACT_UP_TO", 20)
    monkeypatch.setattr("moverank.indexer.search.searcher.DEFAULT_DEPTH", 12)
    assert collection.search("ant dog", k=5).counts.candidates == 12
    assert collection.search("ant dog", k=15).counts.candidates == 15
    check_exact(collection.search("ant dog", k=5, exact=True), twin.distances("ant dog"), 5)


def test_certified_is_a_plain_truth_value(searched: Searched) -> None:
    """Or JSON could not hold it."""
    collection, _ = searched.of(faiss="IDMap2,Flat", gamma=0.0)
    rankings = [collection.search("lark", k=3, depth=4), collection.search("ant dog", k=3, depth=4)]
    assert [type(ranking.certified) for ranking in rankings] == [bool, bool]


def test_first_stage_distances_of_another_gamma_prove_nothing(searched: Searched) -> None:
    collection, _ = searched.of(faiss="IDMap2,Flat", gamma=0.0)
    # But that nothing is nearer than 0, where the query's own words are found.
    assert collection.search("lark", k=3, depth=4, gamma=0.5).certified
    assert not collection.search("lark", k=4, depth=5, gamma=0.5).certified
    tfidf, _ = searched.of(faiss="IDMap2,Flat", gamma=0.0, weights="tfidf")
    assert not tfidf.search("lark", k=4, depth=5).certified


@pytest.mark.parametrize("faiss", FACTORIES)
def test_deleted_and_changed_documents_never_show(searched: Searched, faiss: str) -> None:
    collection, twin = searched.of(faiss=faiss, gamma=0.0)
    for k in (1, 9, 60):
        for query in ("ant bee", "ant bee cat", "lark"):
            check_honest(collection.search(query, k=k, depth=k), twin.distances(query), k)


@pytest.mark.parametrize(
    ("where", "keeps"),
    [
        ({"label": ["red"]}, lambda found: found.label == "red"),
        ({"label": ["red", "blue"]}, lambda found: found.label in ("red", "blue")),
        ({"year": ["1993"]}, lambda found: found.metadata.get("year") == 1993),
        ({"open": ["true"]}, lambda found: found.metadata.get("open") is True),
        ({"half": ["1.5", "2.0"]}, lambda found: found.metadata.get("half") in (1.5, 2.0)),
        ({"tags": ["t1"]}, lambda found: "t1" in found.metadata.get("tags", [])),
        ({"tags": ["t1"], "label": ["green"]}, lambda _: False),
        ({"tags": ["t1", "t2"], "open": ["false"]}, lambda found: {"t1", "t2"} & {*found.metadata.get("tags", [])}
         and not found.metadata["open"]),
        ({"label": ["pink"]}, lambda _: False),
        ({"label": []}, lambda _: False),
        ({}, lambda _: True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("faiss", ["IDMap2,Flat", "HNSW32", "IVF4,Flat", "SQ8"])
def test_where_is_applied_before_candidates_are_cut(
    searched: Searched, faiss: str, where: dict[str, list[str]], keeps: Callable[[Any], bool]
) -> None:
    collection, twin = searched.of(faiss=faiss, gamma=0.0)
    expected = {key: far for key, far in twin.distances("ant bee").items() if keeps(twin.documents[key])}
    check_exact(collection.search("ant bee", k=70, where=where), expected, 70)
    narrow = collection.search("ant bee", k=2, depth=2, where=where)
    check_honest(narrow, expected, 2)
    assert len(narrow.hits) == min(2, len(expected))


def test_an_unknown_field_is_named_with_those_that_there_are(searched: Searched, collection: Collection) -> None:
    known, _ = searched.of(faiss="IDMap2,Flat", gamma=0.0)
    with pytest.raises(
        UsageError, match="no document has a field 'colour': the fields are half, label, open, tags, year"
    ):
        known.search("ant", where={"colour": ["red"]})
    collection.index([document("a", "ant")])
    with pytest.raises(UsageError, match="no document has any field"):
        collection.search("ant", where={"label": ["red"]})


def test_similar_leaves_itself_out(searched: Searched) -> None:
    collection, twin = searched.of(faiss="IDMap2,Flat", gamma=0.75)
    for key in ("d3", "d55", "far1"):
        expected = twin.distances(twin.documents[key], gamma=0.75)
        del expected[key]
        check_exact(collection.similar(key, k=5), expected, 5)
        check_honest(collection.similar(key, k=5, depth=7), expected, 5)
    assert [hit.key for hit in collection.similar("far1", k=2).hits] == ["far0", "far2"]


def test_what_cannot_be_compared(searched: Searched) -> None:
    collection, _ = searched.of(faiss="IDMap2,Flat", gamma=0.0)
    with pytest.raises(UnknownKey, match="no document with the key 'gone1'"):
        collection.similar("gone1")
    with pytest.raises(NoKnownWords, match="no word with a vector: it cannot be compared"):
        collection.similar("none")
    with pytest.raises(NoKnownWords, match="cannot be compared"):
        collection.explain("ant", "none")
    with pytest.raises(UnknownKey):
        collection.explain("ant", "nobody")


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("", "the query '' has no word that the collection has a vector for: it is empty"),
        (" \n", "the query '' has no word that the collection has a vector for: it is empty"),
        ("of the The", "the query 'of the The' .*: all of its words are stop words"),
        ("zorp of quux", "the query 'zorp of quux' has no word that the collection has a vector for$"),
        ("zorp " * 50, r"the query '(zorp ){12}' has"),
    ],
)
def test_a_query_without_known_words(searched: Searched, query: str, told: str) -> None:
    collection, _ = searched.of(faiss="IDMap2,Flat", gamma=0.0)
    with pytest.raises(NoKnownWords, match=told):
        collection.search(query)
    with pytest.raises(NoKnownWords, match=told):
        collection.explain(query, "d1")


def test_words_that_no_document_has_are_words_of_the_query(collection: Collection) -> None:
    twin = Twin()
    twin.add([document("a", "ant bee"), document("b", "cat")])
    collection.index(twin.documents.values())
    check_exact(collection.search("fox ant zorp"), twin.distances("fox ant zorp"), 10)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"k": 0}, "k must be 1 or more, not 0"),
        ({"k": 3, "depth": 2}, "depth must be at least k, which is 3, not 2"),
        ({"k": 3, "depth": 0}, "depth must be at least k"),
        ({"budget": 0}, "the budget must be a number of seconds above 0, not 0"),
        ({"budget": math.nan}, "the budget must be a number of seconds above 0"),
        ({"distance": "cosine"}, "there is no distance 'cosine': choose one of wmd, pwmd, rwmd, wcd"),
        ({"gamma": -0.5}, "gamma must be a number of 0 or more, not -0.5"),
        ({"gamma": math.nan}, "gamma must be a number"),
        ({"gamma": math.inf}, "gamma must be a number"),
        ({"distance": "wmd", "gamma": 0.5}, "wmd weighs all parts alike"),
    ],
)
def test_what_cannot_be_meant(searched: Searched, options: Any, told: str) -> None:
    collection, _ = searched.of(faiss="IDMap2,Flat", gamma=0.0)
    for ask in (collection.search, collection.similar):
        with pytest.raises(UsageError, match=told):
            ask("d1 ant" if ask == collection.search else "d1", **options)


def test_explain_refuses_a_gamma_that_cannot_be_meant(searched: Searched) -> None:
    collection, _ = searched.of(faiss="IDMap2,Flat", gamma=0.0)
    with pytest.raises(UsageError, match="gamma must be a number of 0 or more"):
        collection.explain("ant", "d1", gamma=-1)


@pytest.mark.parametrize(
    ("distance", "gamma", "own", "meant"),
    [
        (None, None, 0.0, ("wmd", 0.0)),
        (None, None, 0.4, ("pwmd", 0.4)),
        (None, 0.0, 0.4, ("wmd", 0.0)),
        (None, 0.2, 0.0, ("pwmd", 0.2)),
        ("wmd", None, 0.4, ("wmd", 0.0)),
        ("wmd", 0.0, 0.4, ("wmd", 0.0)),
        ("pwmd", None, 0.0, ("pwmd", PAPER_GAMMA)),
        ("pwmd", None, 0.4, ("pwmd", 0.4)),
        ("pwmd", 0.0, 0.4, ("pwmd", 0.0)),
        ("rwmd", None, 0.4, ("rwmd", 0.4)),
        ("wcd", 0.1, 0.4, ("wcd", 0.1)),
    ],
)
def test_which_distance_and_gamma_are_meant(
    distance: Any, gamma: float | None, own: float, meant: tuple[str, float]
) -> None:
    assert resolve(distance, gamma, own) == meant


def _flow_words(text: str) -> set[str]:
    return {word for word in text.split() if word in WORDS}


@pytest.mark.parametrize("gamma", [0.0, 0.75])
@pytest.mark.parametrize("weights", ["tf", "tfidf"])
def test_flows_add_up_to_the_distance(searched: Searched, gamma: float, weights: str) -> None:
    collection, twin = searched.of(faiss="IDMap2,Flat", gamma=gamma, weights=weights)
    ranking = collection.search("ant bee zorp dog", k=4, explained=True)
    for hit in ranking.hits:
        found = collection.explain("ant bee zorp dog", hit.key)
        assert hit.flows == found.flows
        assert math.isclose(found.distance, hit.distance, rel_tol=1e-9)
        assert math.isclose(sum(flow.mass * flow.cost for flow in hit.flows), hit.distance, rel_tol=1e-9)
        assert math.isclose(sum(flow.mass for flow in hit.flows), 1)
        assert {flow.source for flow in hit.flows} == {"ant", "bee", "dog"}
        text = " ".join(part.text for part in twin.documents[hit.key].parts)
        assert {flow.target for flow in hit.flows} == _flow_words(text)
    again = collection.explain("ant bee", "d9", gamma=0.3)
    assert math.isclose(again.distance, twin.distances("ant bee", gamma=0.3)["d9"], rel_tol=1e-6)


@pytest.mark.parametrize("distance", ["rwmd", "wcd"])
def test_relaxed_distances_have_no_flows(searched: Searched, distance: Any) -> None:
    collection, _ = searched.of(faiss="IDMap2,Flat", gamma=0.0)
    assert all(hit.flows == () for hit in collection.search("ant", explained=True, distance=distance).hits)


def test_a_hit_shows_title_label_and_snippet(collection: Collection) -> None:
    collection.index([document("a", "of ant", "zorp bee", title="A title", label="red"), document("b", "ant")])
    hits = {hit.key: hit for hit in collection.search("bee").hits}
    assert (hits["a"].title, hits["a"].label, hits["a"].snippet) == ("A title", "red", "of ant zorp bee")
    assert (hits["b"].title, hits["b"].label) == ("", None)


def test_an_empty_collection_has_no_hits(collection: Collection) -> None:
    assert collection.search("ant").hits == ()
    assert collection.search("ant").certified
