"""Comparison with other implementations, on real texts."""

from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from numpy.typing import NDArray
from scipy.special import gammaln

from moverank.rerank.testing.sample_counts import Counted, CountedSegment
from tests.benchmarks.retrieval_sets import RetrievalSet
from tests.rerank.scorers.cranfield import TOLERANCE, count_matrix, queries_of, scores_of, vocabulary_of


@pytest.fixture(scope="module")
def vectors(shared: Path) -> dict[str, NDArray[np.float32]]:
    """Return the vectors of frequent words; the others have none."""
    path = shared / "vectors" / "minilm-words-200d.bin"
    keyed = KeyedVectors.load_word2vec_format(str(path), binary=True, limit=10000)
    return {word: keyed[word] for word in keyed.index_to_key}


def _poisson_nats(tfn: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return -ln (mean^tfn e^-mean / tfn!), where ln x! = ln Gamma(x) + ln x and Gamma is Stirling's to 1 / (12 x)."""
    log_gamma: NDArray[np.float64] = (tfn - 0.5) * np.log(tfn) - tfn + 0.5 * np.log(2 * np.pi) + 1 / (12 * tfn)
    return mean - tfn * np.log(mean) + log_gamma + np.log(tfn)


def test_pl2_equals_its_derivation_from_the_poisson_distribution(
    cranfield: RetrievalSet, segment: CountedSegment
) -> None:
    vocabulary = list(segment.terms)
    documents = count_matrix(vocabulary, cranfield.documents).toarray()
    queries = list(queries_of(cranfield))
    query_counts = count_matrix(vocabulary, queries)
    lengths = documents.sum(axis=1)
    row, term = np.nonzero(documents)
    tfn = documents[row, term] * np.log2(1 + lengths.mean() / lengths[row])
    mean = documents.sum(axis=0)[term] / len(documents)
    nats = _poisson_nats(tfn, mean)
    impacts = np.zeros_like(documents)
    impacts[row, term] = nats / np.log(2) / (1 + tfn)
    # The formula is the published one from a count of 1/6 on: here for all documents.
    assert tfn.min() > 1 / 6
    scores = scores_of(segment, "pl2", {}, queries)
    np.testing.assert_allclose(scores, query_counts @ impacts.T, rtol=TOLERANCE, atol=TOLERANCE)
    # The error of Stirling's series is no larger than its next term (Abramowitz & Stegun 6.1.41).
    exact = mean - tfn * np.log(mean) + gammaln(tfn + 1)
    assert np.all(np.abs(nats - exact) <= 1 / (360 * tfn**3) + 1e-12)


def test_interpolation_equals_cosines_of_scikit_learn(
    cranfield: RetrievalSet, vectors: dict[str, NDArray[np.float32]]
) -> None:
    cosine = pytest.importorskip("sklearn.metrics.pairwise").cosine_similarity
    queries, vocabulary = list(queries_of(cranfield)), vocabulary_of(cranfield)
    documents, query_counts = (count_matrix(vocabulary, texts) for texts in (cranfield.documents, queries))
    rows = np.array([vectors.get(term, np.zeros(200)) for term in vocabulary], np.float64)
    assert 0.2 < np.mean([term in vectors for term in vocabulary]) < 0.9
    expected = 0.3 * cosine(query_counts, documents) + 0.7 * cosine(query_counts @ rows, documents @ rows)
    scores = scores_of(Counted(cranfield.documents, vectors).segment(), "interpolation", {"alpha": "0.7"}, queries)
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
    queries = [{term: n for term, n in query.items() if term in segment.ids} for query in [*queries_of(cranfield)][::3]]
    documents, query_counts = (count_matrix(vocabulary, rows).toarray() for rows in (texts, queries))
    clipped = np.maximum(cosine([vectors.get(term, np.zeros(200)) for term in vocabulary]), 0)
    np.fill_diagonal(clipped, 1)
    translated = (1 - share) * clipped / clipped.sum(axis=1, keepdims=True) + share * np.eye(len(vocabulary))
    lengths, background = documents.sum(axis=1, keepdims=True), documents.sum(axis=0) / documents.sum()
    document_terms = documents @ translated / np.maximum(lengths, 1)
    weight = lengths / (lengths + 1000) if smoothing == "dirichlet" else 0.5
    expected = query_counts @ np.log(weight * document_terms + (1 - weight) * background).T
    scores = scores_of(segment, "translation", {"smoothing": smoothing, "self": str(share)}, queries)
    np.testing.assert_allclose(scores, expected, rtol=TOLERANCE, atol=TOLERANCE)
