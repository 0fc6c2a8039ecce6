"""What every scorer keeps, whatever it computes."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.rerank.scorers import SCORERS
from tests import naive_scorers
from tests.rerank.problems import VECTORS, make_vectors
from tests.rerank.scorers.counted import Counted, Counts

CASES: list[tuple[str, Mapping[str, str]]] = [
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
DISTANCES = [case for case in CASES if case[0] in ("bow", "tfidf")]
# Each property runs for each case. A busy machine is no fault of the strategy.
examples = settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
every_case = pytest.mark.parametrize(("name", "options"), CASES)

TERMS = [f"t{i}" for i in range(10)]
# Of these no document knows, some have a vector.
STRANGERS = ["x0", "x1"]
COUNTS = st.one_of(st.integers(1, 4).map(float), st.floats(1e-3, 1e3))
DOCUMENTS = st.lists(st.dictionaries(st.sampled_from(TERMS), COUNTS, max_size=6), min_size=1, max_size=6)
QUERIES = st.dictionaries(st.sampled_from(TERMS + STRANGERS), COUNTS, max_size=6)


@st.composite
def collections(draw: st.DrawFn) -> Counted:
    """Draw documents, some of them empty or the same, over words of which some have a vector, some a zero vector."""
    documents = draw(DOCUMENTS)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    words = TERMS + STRANGERS
    kind, dim = draw(st.sampled_from(VECTORS)), draw(st.integers(1, 4))
    rows = make_vectors(rng, len(words), dim, kind, draw(st.sampled_from([1e-3, 1.0, 1e3])))
    known = draw(st.sampled_from([0.0, 0.7, 1.0]))
    vectors = {word: row for word, row in zip(words, rows, strict=True) if rng.random() < known}
    repeated = draw(st.lists(st.sampled_from(range(len(documents))), max_size=2))
    return Counted([*documents, *(documents[row] for row in repeated)], vectors)


def _close(found: NDArray[np.float64], expected: NDArray[np.float64], allowed: float = 1e-9) -> None:
    np.testing.assert_allclose(found, expected, rtol=allowed, atol=allowed)


def test_every_scorer_is_in_the_contract() -> None:
    assert {name for name, _ in CASES} == set(SCORERS)
    assert all(SCORERS[name].name == name for name in SCORERS)


@every_case
@examples
@given(collection=collections(), query=QUERIES)
def test_a_scorer_is_its_formula(name: str, options: Mapping[str, str], collection: Counted, query: Counts) -> None:
    found = collection.segment().score(name, options, query)
    vectors = {word: vector.tolist() for word, vector in collection.vectors.items()}
    _close(found, np.array(naive_scorers.score(name, options, query, collection.documents, vectors)))


@every_case
@examples
@given(collection=collections(), query=QUERIES)
def test_scores_are_finite_numbers_one_a_document(
    name: str, options: Mapping[str, str], collection: Counted, query: Counts
) -> None:
    found = collection.segment().score(name, options, query)
    assert found.shape == (len(collection.documents),)
    assert found.dtype == np.float64
    assert np.all(np.isfinite(found))
    if name in ("bow", "tfidf", "bm25", "pl2"):
        assert np.all(found >= 0)


@every_case
@examples
@given(collection=collections(), query=QUERIES)
def test_what_shares_no_term_is_told_from_what_does(
    name: str, options: Mapping[str, str], collection: Counted, query: Counts
) -> None:
    segment = collection.segment()
    scorer = segment.fit(name, options)
    shares = np.array([bool(query.keys() & document.keys()) for document in collection.documents])
    assert (scorer.unrelated is None) == (name in ("translation", "interpolation"))
    if scorer.unrelated is not None:
        found = scorer.score(segment.query(query))
        np.testing.assert_array_equal(found != scorer.unrelated, shares)


@every_case
@examples
@given(collection=collections(), query=QUERIES, data=st.data())
def test_the_segment_does_not_matter(
    name: str, options: Mapping[str, str], collection: Counted, query: Counts, data: st.DataObject
) -> None:
    whole = collection.segment().score(name, options, query)
    split = data.draw(st.integers(0, len(collection.documents)))
    rows = list(range(len(collection.documents)))
    parts = [collection.segment(rows[:split], seed=split), collection.segment(rows[split:], seed=split + 1)]
    _close(np.concatenate([part.score(name, options, query) for part in parts]), whole)


@every_case
@examples
@given(collection=collections(), query=QUERIES, data=st.data())
def test_the_order_of_documents_and_terms_does_not_matter(
    name: str, options: Mapping[str, str], collection: Counted, query: Counts, data: st.DataObject
) -> None:
    found = collection.segment().score(name, options, query)
    order = data.draw(st.permutations(range(len(collection.documents))))
    turned = {term: query[term] for term in reversed(list(query))}
    _close(collection.segment(order, seed=3).score(name, options, turned), found[order])


@every_case
@examples
@given(collection=collections(), query=QUERIES)
def test_the_same_input_gives_the_same_bits(
    name: str, options: Mapping[str, str], collection: Counted, query: Counts
) -> None:
    segment = collection.segment()
    scorer = segment.fit(name, options)
    first = scorer.score(segment.query(query)).tobytes()
    assert scorer.score(segment.query(query)).tobytes() == first
    assert segment.score(name, options, query).tobytes() == first


@every_case
@examples
@given(collection=collections(), query=QUERIES)
def test_a_word_that_nobody_knows_favours_no_document(
    name: str, options: Mapping[str, str], collection: Counted, query: Counts
) -> None:
    segment = collection.segment()
    only = segment.score(name, options, {"nobody": 2.0})
    assert np.all(only == only[0])
    without, with_it = (segment.score(name, options, {**query, **more}) for more in ({}, {"nobody": 2.0}))
    if name in ("bow", "tfidf"):
        assert np.all(with_it >= without - 1e-12)
    elif name != "interpolation":
        np.testing.assert_array_equal(with_it, without)


@pytest.mark.parametrize(("name", "options"), DISTANCES)
@examples
@given(collection=collections(), data=st.data())
def test_an_identical_text_is_not_beaten(
    name: str, options: Mapping[str, str], collection: Counted, data: st.DataObject
) -> None:
    row = data.draw(st.sampled_from(range(len(collection.documents))))
    distances = collection.segment().score(name, options, collection.documents[row])
    assert distances[row] <= distances.min() + 1e-12
    if collection.documents[row]:
        assert distances[row] < 1e-12


@every_case
def test_ascending_says_which_end_is_near(name: str, options: Mapping[str, str]) -> None:
    query = {"cat": 2.0, "mat": 1.0}
    vectors = {"cat": [1, 0, 0], "mat": [0.6, 0.8, 0], "law": [0, 0, 1], "tax": [0, -0.6, 0.8]}
    documents: list[Counts] = [{"law": 2.0, "tax": 1.0}, query, {"law": 1.0, "tax": 2.0}, {"law": 1.0}, {}]
    collection = Counted(documents, {word: np.array(row, np.float32) for word, row in vectors.items()})
    scores = collection.segment().score(name, options, query)
    best = np.argmin(scores) if SCORERS[name].ascending else np.argmax(scores)
    assert best == 1


@every_case
def test_no_documents_have_no_scores(name: str, options: Mapping[str, str]) -> None:
    segment = Counted([], {"cat": np.ones(2, np.float32)}).segment()
    assert segment.score(name, options, {"cat": 1.0}).shape == (0,)


@every_case
def test_empty_documents_and_queries_have_scores(name: str, options: Mapping[str, str]) -> None:
    collection = Counted([{}, {}], {})
    assert np.all(np.isfinite(collection.segment().score(name, options, {})))
    assert np.all(np.isfinite(collection.segment().score(name, options, {"cat": 1.0})))
