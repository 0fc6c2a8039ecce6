"""Scorers rank a collection as they rank all of its texts from scratch, whatever changes it has had."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from moverank import Collection, Document, UsageError
from moverank.indexer.values.ranking_spec import ScorerChoice
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Ranking
from moverank.rerank.scorers import scorer_class
from tests.indexer.stored_state import snapshots
from tests.indexer.world import (
    NO_VECTOR,
    STOP_WORDS,
    TABLE,
    WORDS,
    CollectionFactory,
    MakeCollection,
    Twin,
    check_exact,
    document,
)
from tests.installed import installed
from tests.naive_scorers import score as naive_score

QUERIES = ("ant bee zorp", "elk elk fox", "quux nowhere gnu", "lark")
SPECS = installed(
    [
        *("bow", "bow:norm=l2", "tfidf", "bm25", "bm25:k1=0.6,b=0.1", "pl2", "translation", "interpolation"),
        *("bm25:ngrams=2", "bm25:k1=0.6,ngrams=3", "tfidf:ngrams=2", "bow:ngrams=3", "pl2:ngrams=2"),
    ]
)
_VECTORS = {word: vector.tolist() for word, vector in TABLE.items()}
_CHANGED = [document("d3", "gnu gnu quux new"), document("d7", "ant", "of the bee"), document("empty", "of the")]


def _documents(first: int, last: int) -> list[Document]:
    """Return documents of one or two parts, some of whose words have no vector; every ninth has no word with one."""
    rng, documents = np.random.default_rng(5), []
    for i in range(last):
        texts = [" ".join(rng.choice([*WORDS, *NO_VECTOR], 4)), " ".join(rng.choice(WORDS, 3))]
        chosen = ["zorp quux"] if i % 9 == 4 else texts[: 1 + i % 2]
        documents.append(document(f"d{i}", *chosen, label="red" if i % 3 else "blue"))
    return documents[first:]


def _counts(one: Document, gamma: float) -> dict[str, float]:
    """Return the counts of a document's words, each part weighted by its rank."""
    counts: dict[str, float] = {}
    for part in one.parts:
        for word, count in Counter(part.text.split()).items():
            if word not in STOP_WORDS:
                counts[word] = counts.get(word, 0.0) + count * (1 + part.rank) ** -gamma
    return counts


def _terms(words: Mapping[str, float], spec: str) -> dict[str, float]:
    """Return the counts of words, or of the sequences of letters that `spec` counts."""
    _, named, length = spec.partition("ngrams=")
    size, counts = int(length) if named else 99, dict[str, float]()
    for word, count in words.items():
        first = 0
        while first == 0 or first + size <= len(word):
            term = word[first : first + size]
            counts[term] = counts.get(term, 0.0) + count
            first += 1
    return counts


def _expected(twin: Twin, spec: str, query: Mapping[str, float], gamma: float = 0.0) -> dict[str, float]:
    """Return the scores of all documents by key, computed by the naive scorers."""
    name, _, rest = spec.partition(":")
    options = dict(option.split("=") for option in rest.split(",") if option)
    counts = [_terms(_counts(one, gamma), spec) for one in twin.documents.values()]
    scores = naive_score(name, options, _terms(query, spec), counts, _VECTORS)
    return dict(zip(twin.documents, scores, strict=True))


def _check(ranking: Ranking, twin: Twin, spec: str, query: str | Document, gamma: float = 0.0, k: int = 99) -> None:
    """Check that every hit has the naive score, and that no better document is missing."""
    query_counts = Counter(query.split()) if isinstance(query, str) else _counts(query, gamma)
    expected = _expected(twin, spec, query_counts, gamma)
    if not isinstance(query, str):
        del expected[query.key]
    name = spec.partition(":")[0]
    ascending = scorer_class(name).ascending
    scores = {hit.key: hit.distance if ascending else hit.score for hit in ranking.hits}
    assert scores == pytest.approx({key: expected[key] for key in scores}, rel=1e-9, abs=1e-9)
    assert ranking.certified
    assert list(scores.values()) == sorted(scores.values(), reverse=not ascending)
    assert all(math.isnan(hit.distance) != ascending for hit in ranking.hits)
    by_meaning = name in ("translation", "interpolation")
    for key in [*expected]:
        terms = _terms(_counts(twin.documents[key], 0), spec).keys()
        if not (terms if by_meaning else terms & _terms(query_counts, spec).keys()):
            del expected[key]
    best = sorted(expected.values(), reverse=not ascending)[:k]
    assert list(scores.values()) == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.fixture(scope="module")
def twin() -> Twin:
    """Return the twin of `filled`; tests do not change it."""
    return Twin.of([*_documents(0, 60), *_CHANGED])


@pytest.fixture(scope="module")
def filled(factory: CollectionFactory) -> Iterator[Collection]:
    """Return a snapshot of 50 documents, some removed or changed since, with a tail; tests do not change it."""
    with factory.partly_stored(_documents(0, 50), [*_documents(50, 60), *_CHANGED], gamma=0.75) as collection:
        yield collection


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("gamma", [0.0, 0.75])
def test_scores_equal_those_computed_from_scratch(filled: Collection, twin: Twin, spec: str, gamma: float) -> None:
    for query in QUERIES:
        _check(filled.search(query, k=99, distance=spec, gamma=gamma), twin, spec, query, gamma)
    _check(filled.search(QUERIES[0], k=4, distance=spec, gamma=gamma), twin, spec, QUERIES[0], gamma, 4)
    for key in ("d1", "d3", "d4"):
        ranking = filled.similar(key, k=99, distance=spec, gamma=gamma)
        _check(ranking, twin, spec, twin.documents[key], gamma)


@pytest.mark.parametrize("spec", SPECS)
def test_a_batch_equals_single_searches(filled: Collection, spec: str) -> None:
    batch = [*filled.search_many([*QUERIES, "of the"], k=5, distance=spec)]
    single = [filled.search(query, k=5, distance=spec) for query in QUERIES]
    assert [ranking.problem is None for ranking in batch] == [True] * 4 + [False]
    for one, other in zip(batch, single, strict=False):
        assert [(hit.key, hit.score) for hit in one.hits] == [(hit.key, hit.score) for hit in other.hits]


def test_documents_without_a_vector_are_found_by_their_words(filled: Collection) -> None:
    assert "d4" in {hit.key for hit in filled.search("quux", k=60, distance="bm25").hits}
    assert not filled.search("nowhere", distance="bm25").hits
    with pytest.raises(NoKnownWords):
        filled.search("of the", distance="bm25")
    with pytest.raises(NoKnownWords, match="has no word"):
        filled.similar("empty", distance="bm25")


def test_a_filter_and_a_depth_limit_which_documents_are_scored(filled: Collection, twin: Twin) -> None:
    red = filled.search("ant bee", k=60, distance="bm25", where={"label": ["red"]})
    assert {twin.documents[hit.key].label for hit in red.hits} == {"red"}
    assert red.certified
    candidates = filled.search("ant bee", k=3, distance="bm25", depth=6)
    assert (candidates.certified, candidates.scope, candidates.counts.candidates) == (False, "candidates", 6)
    assert filled.search("ant bee", k=3, distance="bm25", depth=6, exact=True).certified
    assert filled.search("ant bee", k=3, distance="bm25", depth=600).certified


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": "bm25", "distance": "pl2"}, "two names of one option"),
        ({"rank": "bm25", "budget": 1.0}, "bm25 ranks at once"),
        ({"rank": "bm26"}, "there is no ranking 'bm26'"),
    ],
)
def test_contradictory_options_are_refused(filled: Collection, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        filled.search("ant", **options)
    with pytest.raises(UsageError, match="only a distance has bounds"):
        filled.why_not("ant", "d1", distance="bm25")


@pytest.mark.usefixtures("always_compact")
def test_a_joined_scorer_adds_documents_with_a_rare_word_to_the_candidates(make_collection: MakeCollection) -> None:
    rare = [document("rare", "lark lark lark zebra"), document("same", "ant bee ant bee")]
    twin = Twin.of([*_documents(0, 60), *rare])
    joined, plain = make_collection(first_stage="centroid+bm25"), make_collection()
    joined.index(twin.documents.values())
    plain.index(twin.documents.values())
    query = "ant bee zebra"
    with_scorer, by_vectors = (one.search(query, k=2, depth=2, explained=False) for one in (joined, plain))
    assert "rare" in {hit.key for hit in with_scorer.hits} - {hit.key for hit in by_vectors.hits}
    assert not with_scorer.certified
    check_exact(joined.search(query, k=3, depth=4, exact=True), twin.distances(query), 3)
    check_exact(joined.search(query, k=3), twin.distances(query), 3)
    assert joined.similar("d1", k=2, depth=3).hits
    assert joined.why_not(query, "d1", k=2, depth=2).stage != "hit"


@pytest.mark.usefixtures("always_compact")
def test_joining_another_scorer_needs_no_new_snapshot(collection: Collection) -> None:
    collection.index(_documents(0, 20))
    before = snapshots(collection)
    collection.change_settings(first_stage="centroid+tfidf")
    assert collection.settings.joined_scorer() == ScorerChoice("tfidf")
    assert collection.search("ant", depth=12).hits
    assert snapshots(collection) == before


@pytest.mark.parametrize("first_stage", ["centroid+bm26", "centroid+", "bm25", "bm25+centroid"])
def test_an_unknown_first_stage_is_refused(make_collection: MakeCollection, first_stage: str) -> None:
    with pytest.raises(UsageError, match="first stage"):
        make_collection(first_stage=first_stage)
