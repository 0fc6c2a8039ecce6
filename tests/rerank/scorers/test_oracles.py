"""Comparison with other implementations, on real texts."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gensim.models import KeyedVectors
from numpy.typing import NDArray
from scipy.special import gammaln

from moverank.rerank.testing.sample_counts import Counted, CountedSegment, Counts
from moverank.rerank.words.tokenizer import Tokenizer, stop_words
from tests.benchmarks.retrieval_sets import RetrievalSet

TOLERANCE = 1e-6


@pytest.fixture(scope="module")
def cranfield(shared: Path) -> RetrievalSet:
    return RetrievalSet.read(shared / "data" / "cranfield", Tokenizer(stop_words()))


@pytest.fixture(scope="module")
def vectors(shared: Path) -> dict[str, NDArray[np.float32]]:
    """Return the vectors of frequent words; the others have none."""
    path = shared / "vectors" / "minilm-words-200d.bin"
    keyed = KeyedVectors.load_word2vec_format(str(path), binary=True, limit=10000)
    return {word: keyed[word] for word in keyed.index_to_key}


@pytest.fixture(scope="module")
def segment(cranfield: RetrievalSet) -> CountedSegment:
    return Counted(cranfield.documents, {}).segment()


def _words(counts: Counts) -> list[str]:
    return [term for term, count in counts.items() for _ in range(int(count))]


def _vocabulary(cranfield: RetrievalSet) -> list[str]:
    """Return the terms of all documents and queries."""
    return sorted({term for counts in [*cranfield.documents, *cranfield.queries.values()] for term in counts})


def _count_matrix(vocabulary: Sequence[str], texts: Sequence[Counts]) -> Any:
    sklearn = pytest.importorskip("sklearn.feature_extraction.text")
    return sklearn.CountVectorizer(analyzer=_words, vocabulary=vocabulary, dtype=np.float64).transform(texts)


def _scores(
    segment: CountedSegment, name: str, options: Mapping[str, str], queries: Sequence[Counts]
) -> NDArray[np.float64]:
    """Return the scores (queries, documents)."""
    scorer = segment.fit(name, options)
    return np.array([scorer.score(segment.query(query)) for query in queries])


def _queries(cranfield: RetrievalSet) -> Iterator[Counts]:
    """Yield all queries, and some long ones: documents."""
    yield from cranfield.queries.values()
    yield from cranfield.documents[:20]


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", ["bow", "tfidf"])
def test_bow_and_tfidf_equal_scikit_learn(
    cranfield: RetrievalSet, segment: CountedSegment, name: str, norm: str
) -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    normalize = pytest.importorskip("sklearn.preprocessing").normalize
    queries = list(_queries(cranfield))[::5]
    vocabulary = _vocabulary(cranfield)
    if name == "tfidf":
        vectorizer = text.TfidfVectorizer(analyzer=_words, vocabulary=vocabulary, norm=norm, smooth_idf=True)
        documents, rows = vectorizer.fit_transform(cranfield.documents), vectorizer.transform(queries)
    else:
        both = [_count_matrix(vocabulary, texts) for texts in (cranfield.documents, queries)]
        documents, rows = (normalize(matrix, norm) for matrix in both)
    distance = pairwise.manhattan_distances if norm == "l1" else pairwise.euclidean_distances
    scores = _scores(segment, name, {"norm": norm}, queries)
    full = np.array([bool(document) for document in cranfield.documents])
    np.testing.assert_allclose(scores[:, full], distance(rows, documents)[:, full], rtol=0, atol=TOLERANCE)
    # An empty document is a zero vector in scikit-learn, nearer than most others; here it is at the largest distance.
    assert 0 < np.count_nonzero(~full) < 5
    assert np.all(scores[:, ~full] == (2.0 if norm == "l1" else np.sqrt(2.0)))


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.9, 0.4)])
def test_bm25_equals_bm25s(cranfield: RetrievalSet, segment: CountedSegment, k1: float, b: float) -> None:
    bm25s = pytest.importorskip("bm25s")
    oracle = bm25s.BM25(k1=k1, b=b, method="atire", idf_method="lucene", dtype="float64")
    oracle.index([_words(document) for document in cranfield.documents], show_progress=False)
    known = set(segment.terms)
    queries = [{term: n for term, n in query.items() if term in known} for query in _queries(cranfield)]
    expected = np.array([oracle.get_scores(_words(query)) for query in queries])
    scores = _scores(segment, "bm25", {"k1": str(k1), "b": str(b)}, queries)
    np.testing.assert_allclose(scores, expected, rtol=TOLERANCE, atol=TOLERANCE)
    assert scores.max() > 10


def _poisson_nats(tfn: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return -ln (mean^tfn e^-mean / tfn!), where ln x! = ln Gamma(x) + ln x and Gamma is Stirling's to 1 / (12 x)."""
    log_gamma: NDArray[np.float64] = (tfn - 0.5) * np.log(tfn) - tfn + 0.5 * np.log(2 * np.pi) + 1 / (12 * tfn)
    return mean - tfn * np.log(mean) + log_gamma + np.log(tfn)


def test_pl2_equals_its_derivation_from_the_poisson_distribution(
    cranfield: RetrievalSet, segment: CountedSegment
) -> None:
    vocabulary = list(segment.terms)
    documents = _count_matrix(vocabulary, cranfield.documents).toarray()
    queries = list(_queries(cranfield))
    query_counts = _count_matrix(vocabulary, queries)
    lengths = documents.sum(axis=1)
    row, term = np.nonzero(documents)
    tfn = documents[row, term] * np.log2(1 + lengths.mean() / lengths[row])
    mean = documents.sum(axis=0)[term] / len(documents)
    nats = _poisson_nats(tfn, mean)
    impacts = np.zeros_like(documents)
    impacts[row, term] = nats / np.log(2) / (1 + tfn)
    # The formula is the published one from a count of 1/6 on: here for all documents.
    assert tfn.min() > 1 / 6
    scores = _scores(segment, "pl2", {}, queries)
    np.testing.assert_allclose(scores, query_counts @ impacts.T, rtol=TOLERANCE, atol=TOLERANCE)
    # The error of Stirling's series is no larger than its next term (Abramowitz & Stegun 6.1.41).
    exact = mean - tfn * np.log(mean) + gammaln(tfn + 1)
    assert np.all(np.abs(nats - exact) <= 1 / (360 * tfn**3) + 1e-12)


def test_interpolation_equals_cosines_of_scikit_learn(
    cranfield: RetrievalSet, vectors: dict[str, NDArray[np.float32]]
) -> None:
    cosine = pytest.importorskip("sklearn.metrics.pairwise").cosine_similarity
    queries, vocabulary = list(_queries(cranfield)), _vocabulary(cranfield)
    documents, query_counts = (_count_matrix(vocabulary, texts) for texts in (cranfield.documents, queries))
    rows = np.array([vectors.get(term, np.zeros(200)) for term in vocabulary], np.float64)
    assert 0.2 < np.mean([term in vectors for term in vocabulary]) < 0.9
    expected = 0.3 * cosine(query_counts, documents) + 0.7 * cosine(query_counts @ rows, documents @ rows)
    scores = _scores(Counted(cranfield.documents, vectors).segment(), "interpolation", {"alpha": "0.7"}, queries)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", ["dirichlet", "jelinek-mercer"])
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_translation_equals_dense_matrices(
    cranfield: RetrievalSet, vectors: dict[str, NDArray[np.float32]], smoothing: str, share: float
) -> None:
    cosine = pytest.importorskip("sklearn.metrics.pairwise").cosine_similarity
    texts = cranfield.documents[:150]
    segment = Counted(texts, vectors).segment()
    vocabulary = list(segment.terms)
    queries = [{term: n for term, n in query.items() if term in segment.ids} for query in [*_queries(cranfield)][::3]]
    documents, query_counts = (_count_matrix(vocabulary, rows).toarray() for rows in (texts, queries))
    clipped = np.maximum(cosine([vectors.get(term, np.zeros(200)) for term in vocabulary]), 0)
    np.fill_diagonal(clipped, 1)
    translated = (1 - share) * clipped / clipped.sum(axis=1, keepdims=True) + share * np.eye(len(vocabulary))
    lengths, background = documents.sum(axis=1, keepdims=True), documents.sum(axis=0) / documents.sum()
    document_terms = documents @ translated / np.maximum(lengths, 1)
    weight = lengths / (lengths + 1000) if smoothing == "dirichlet" else 0.5
    expected = query_counts @ np.log(weight * document_terms + (1 - weight) * background).T
    scores = _scores(segment, "translation", {"smoothing": smoothing, "self": str(share)}, queries)
    np.testing.assert_allclose(scores, expected, rtol=TOLERANCE, atol=TOLERANCE)
