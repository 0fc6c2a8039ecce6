"""The contract of every scorer."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.rerank.scorers import is_scorer, scorer_class
from moverank.rerank.scorers.scorer_registry import PLUG_INS
from moverank.rerank.testing.sample_counts import Counted, Counts
from moverank.testing import SCORER_CHECKS
from tests import naive_scorers
from tests.rerank.problems import VECTORS, make_vectors
from tests.samples import examples

_OWN: list[tuple[str, Mapping[str, str]]] = [
    ("bow", {}),
    ("bow", {"norm": "l2"}),
    ("tfidf", {}),
    ("tfidf", {"norm": "l2"}),
    ("bm25", {}),
    ("bm25", {"k1": "0", "k3": "0"}),
    ("bm25", {"k1": "2.5", "b": "1", "k3": "7"}),
    ("pl2", {}),
    ("pl2", {"c": "0.05"}),
    ("translation", {}),
    ("translation", {"mu": "3"}),
    ("translation", {"smoothing": "jelinek-mercer"}),
    ("translation", {"smoothing": "jelinek-mercer", "lambda": "0.01", "self": "0.3"}),
    ("interpolation", {}),
    ("interpolation", {"alpha": "0"}),
    ("interpolation", {"alpha": "1"}),
]
CASES = [case for case in _OWN if is_scorer(case[0])]  # a plug-in may have been removed
DISTANCES = [case for case in CASES if case[0] in ("bow", "tfidf")]
every_case = pytest.mark.parametrize(("name", "options"), CASES)

TERMS = [f"t{i}" for i in range(10)]
# Terms that no document contains; some have a vector.
UNSEEN = ["x0", "x1"]
COUNTS = st.one_of(st.integers(1, 4).map(float), st.floats(1e-3, 1e3))
DOCUMENTS = st.lists(st.dictionaries(st.sampled_from(TERMS), COUNTS, max_size=6), min_size=1, max_size=6)
QUERIES = st.dictionaries(st.sampled_from(TERMS + UNSEEN), COUNTS, max_size=6)


@st.composite
def collections(draw: st.DrawFn) -> Counted:
    """Draw documents, some of them empty or equal, over words of which some have a vector, some a zero vector."""
    documents = draw(DOCUMENTS)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    words = TERMS + UNSEEN
    kind, dim = draw(st.sampled_from(VECTORS)), draw(st.integers(1, 4))
    rows = make_vectors(rng, len(words), dim, kind, draw(st.sampled_from([1e-3, 1.0, 1e3])))
    known = draw(st.sampled_from([0.0, 0.7, 1.0]))
    vectors = {word: row for word, row in zip(words, rows, strict=True) if rng.random() < known}
    repeated = draw(st.lists(st.sampled_from(range(len(documents))), max_size=2))
    return Counted([*documents, *(documents[row] for row in repeated)], vectors)


def every_query(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test of (name, options, collection, query) for each case, collection and query."""
    decorated: Callable[..., None] = every_case(examples(0.3)(given(collection=collections(), query=QUERIES)(test)))
    return decorated


def _assert_close(scores: NDArray[np.float64], expected: NDArray[np.float64], tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(scores, expected, rtol=tolerance, atol=tolerance)


def test_every_scorer_is_in_the_contract() -> None:
    assert {name for name, _ in CASES} == set(PLUG_INS.names())
    assert all(scorer_class(name).name == name for name in PLUG_INS.names())


@every_query
def test_scores_equal_the_naive_ones(name: str, options: Mapping[str, str], collection: Counted, query: Counts) -> None:
    scores = collection.segment().score(name, options, query)
    vectors = {word: vector.tolist() for word, vector in collection.vectors.items()}
    _assert_close(scores, np.array(naive_scorers.score(name, options, query, collection.documents, vectors)))


@every_query
def test_scores_are_finite_one_for_each_document(
    name: str, options: Mapping[str, str], collection: Counted, query: Counts
) -> None:
    scores = collection.segment().score(name, options, query)
    assert scores.shape == (len(collection.documents),)
    assert scores.dtype == np.float64
    assert np.all(np.isfinite(scores))
    if name in ("bow", "tfidf", "bm25", "pl2"):
        assert np.all(scores >= 0)


@every_query
def test_unrelated_is_the_score_of_documents_without_a_shared_term(
    name: str, options: Mapping[str, str], collection: Counted, query: Counts
) -> None:
    segment = collection.segment()
    scorer = segment.fit(name, options)
    shares = np.array([bool(query.keys() & document.keys()) for document in collection.documents])
    assert (scorer.unrelated is None) == (name in ("translation", "interpolation"))
    if scorer.unrelated is not None:
        scores = scorer.score(segment.query(query))
        np.testing.assert_array_equal(scores != scorer.unrelated, shares)


@every_case
@examples(0.3)
@given(collection=collections(), query=QUERIES, data=st.data())
def test_scores_do_not_depend_on_the_segments(
    name: str, options: Mapping[str, str], collection: Counted, query: Counts, data: st.DataObject
) -> None:
    whole = collection.segment().score(name, options, query)
    split = data.draw(st.integers(0, len(collection.documents)))
    rows = list(range(len(collection.documents)))
    parts = [collection.segment(rows[:split], seed=split), collection.segment(rows[split:], seed=split + 1)]
    _assert_close(np.concatenate([part.score(name, options, query) for part in parts]), whole)


@every_case
@examples(0.3)
@given(collection=collections(), query=QUERIES, data=st.data())
def test_scores_do_not_depend_on_the_order_of_documents_and_terms(
    name: str, options: Mapping[str, str], collection: Counted, query: Counts, data: st.DataObject
) -> None:
    scores = collection.segment().score(name, options, query)
    order = data.draw(st.permutations(range(len(collection.documents))))
    reordered = {term: query[term] for term in reversed(list(query))}
    _assert_close(collection.segment(order, seed=3).score(name, options, reordered), scores[order])


@every_query
def test_scores_are_reproducible(name: str, options: Mapping[str, str], collection: Counted, query: Counts) -> None:
    segment = collection.segment()
    scorer = segment.fit(name, options)
    first = scorer.score(segment.query(query)).tobytes()
    assert scorer.score(segment.query(query)).tobytes() == first
    assert segment.score(name, options, query).tobytes() == first


@every_query
def test_an_unseen_word_favours_no_document(
    name: str, options: Mapping[str, str], collection: Counted, query: Counts
) -> None:
    segment = collection.segment()
    only = segment.score(name, options, {"unseen": 2.0})
    assert np.all(only == only[0])
    without, with_it = (segment.score(name, options, {**query, **more}) for more in ({}, {"unseen": 2.0}))
    if name in ("bow", "tfidf"):
        assert np.all(with_it >= without - 1e-12)
    elif name != "interpolation":
        np.testing.assert_array_equal(with_it, without)


@pytest.mark.parametrize(("name", "options"), DISTANCES)
@given(collection=collections(), data=st.data())
def test_an_identical_text_is_the_nearest(
    name: str, options: Mapping[str, str], collection: Counted, data: st.DataObject
) -> None:
    row = data.draw(st.sampled_from(range(len(collection.documents))))
    distances = collection.segment().score(name, options, collection.documents[row])
    assert distances[row] <= distances.min() + 1e-12
    if collection.documents[row]:
        assert distances[row] < 1e-12


@pytest.mark.parametrize("check", SCORER_CHECKS, ids=lambda check: check.__name__)
def test_the_contract_of_plug_ins_holds(check: Callable[..., None], subtests: pytest.Subtests) -> None:
    for name, options in CASES:
        with subtests.test(name=name, options=options):
            check(scorer_class(name), options)


@every_case
def test_empty_documents_and_queries_have_finite_scores(name: str, options: Mapping[str, str]) -> None:
    collection = Counted([{}, {}], {})
    assert np.all(np.isfinite(collection.segment().score(name, options, {})))
    assert np.all(np.isfinite(collection.segment().score(name, options, {"cat": 1.0})))
