"""Comparison with other implementations, on real texts."""

import numpy as np
import pytest

from moverank.rerank.testing.sample_counts import CountedSegment
from tests.benchmarks.retrieval_sets import RetrievalSet
from tests.rerank.scorers.cranfield import TOLERANCE, count_matrix, queries_of, scores_of, vocabulary_of, words_of


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", ["bow", "tfidf"])
def test_bow_and_tfidf_equal_scikit_learn(
    cranfield: RetrievalSet, segment: CountedSegment, name: str, norm: str
) -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    normalize = pytest.importorskip("sklearn.preprocessing").normalize
    queries = list(queries_of(cranfield))[::5]
    vocabulary = vocabulary_of(cranfield)
    if name == "tfidf":
        vectorizer = text.TfidfVectorizer(analyzer=words_of, vocabulary=vocabulary, norm=norm, smooth_idf=True)
        documents, rows = vectorizer.fit_transform(cranfield.documents), vectorizer.transform(queries)
    else:
        both = [count_matrix(vocabulary, texts) for texts in (cranfield.documents, queries)]
        documents, rows = (normalize(matrix, norm) for matrix in both)
    distance = pairwise.manhattan_distances if norm == "l1" else pairwise.euclidean_distances
    scores = scores_of(segment, name, {"norm": norm}, queries)
    full = np.array([bool(document) for document in cranfield.documents])
    np.testing.assert_allclose(scores[:, full], distance(rows, documents)[:, full], rtol=0, atol=TOLERANCE)
    # An empty document is a zero vector in scikit-learn, nearer than most others; here it is at the largest distance.
    assert 0 < np.count_nonzero(~full) < 5
    assert np.all(scores[:, ~full] == (2.0 if norm == "l1" else np.sqrt(2.0)))


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.9, 0.4)])
def test_bm25_equals_bm25s(cranfield: RetrievalSet, segment: CountedSegment, k1: float, b: float) -> None:
    bm25s = pytest.importorskip("bm25s")
    oracle = bm25s.BM25(k1=k1, b=b, method="atire", idf_method="lucene", dtype="float64")
    oracle.index([words_of(document) for document in cranfield.documents], show_progress=False)
    known = set(segment.terms)
    queries = [{term: n for term, n in query.items() if term in known} for query in queries_of(cranfield)]
    expected = np.array([oracle.get_scores(words_of(query)) for query in queries])
    scores = scores_of(segment, "bm25", {"k1": str(k1), "b": str(b)}, queries)
    np.testing.assert_allclose(scores, expected, rtol=TOLERANCE, atol=TOLERANCE)
    assert scores.max() > 10
