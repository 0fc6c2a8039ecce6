import logging

import numpy as np
import pytest
from gensim.models import LdaModel
from gensim.utils import FakeDict
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.encoders.encoder import Documents
from moverank.rerank.plugins.methods.lda import Lda, count_matrix, exp_elog_beta, infer_topics
from moverank.rerank.testing.encoder_checks import check_independent_rows_of
from tests.rerank.encoders.worlds import (
    UNSEEN,
    counted_documents,
    small_counts,
    themed,
)
from tests.rerank.plugins.methods import naive_topics
from tests.samples import examples

FEW = {"topics": "6", "passes": "10", "chunk": "20"}


def test_counts_are_weights_times_length_of_known_words() -> None:
    documents = counted_documents([[2, 0, 1, 0], [1, 0, 0, 5], [0, 0, 1, 0]], np.array([2, 3, 5, 7]))
    rows = count_matrix(documents, np.array([0, 2, 7])).toarray()
    np.testing.assert_allclose(rows, [[0, 2, 0], [0, 1, 5], [0, 0, 0]])


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 6))
def test_exp_elog_beta_equals_the_naive_one(seed: int, k: int, w: int) -> None:
    topics = np.random.default_rng(seed).gamma(0.5, 2.0, (k, w)) + 1e-2
    np.testing.assert_allclose(exp_elog_beta(topics), naive_topics.exp_elog_beta(topics.tolist()), rtol=1e-9)


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(0, 6), st.integers(1, 5))
def test_inference_equals_the_naive_one(seed: int, k: int, u: int, iterations: int) -> None:
    rng = np.random.default_rng(seed)
    counts, of_words, alpha = rng.uniform(0.1, 4, u), rng.uniform(0.01, 1, (u, k)), rng.uniform(0.05, 2, k)
    gamma = infer_topics(counts, of_words, alpha, iterations, 0.0)
    twin = naive_topics.lda_gamma(counts.tolist(), of_words.tolist(), alpha.tolist(), iterations)
    np.testing.assert_allclose(gamma, twin, rtol=1e-9)
    # The document's counts are divided over the topics.
    assert gamma.sum() == pytest.approx(alpha.sum() + counts.sum())


@pytest.mark.slow
def test_inference_agrees_with_gensim_for_the_same_topics() -> None:
    documents, _ = themed(1)
    bags, lengths = documents.bags, documents.lengths
    corpus = [
        list(zip(b.words.tolist(), (b.weights * n).tolist(), strict=True)) for b, n in zip(bags, lengths, strict=True)
    ]
    model = LdaModel(
        corpus,
        num_topics=5,
        id2word=FakeDict(len(documents.word_ids)),
        alpha=0.3,
        passes=10,
        iterations=5000,
        gamma_threshold=1e-12,
        random_state=3,
        dtype=np.float64,
    )
    expected, _ = model.inference(corpus)
    of_words = exp_elog_beta(model.state.get_lambda())
    for bag, length, oracle in zip(bags, lengths, expected, strict=True):
        gamma = infer_topics(bag.weights * length, of_words[bag.words], model.alpha, 5000, 1e-12)
        np.testing.assert_allclose(gamma, oracle, rtol=1e-6, atol=1e-6)


@examples(0.5)
@given(small_counts(), st.sampled_from(["0", "1e-3", "2"]), st.sampled_from(["0", "1"]))
def test_any_documents_can_be_fitted(documents: Documents, alpha: str, chunk: str) -> None:
    encoder = Lda.fit(documents, {"topics": "4", "passes": "2", "alpha": alpha, "chunk": chunk})
    vectors = encoder.encode(documents)
    assert vectors.shape == (len(documents), encoder.dim) == (len(documents), 4)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)
    check_independent_rows_of(encoder, documents)


def test_a_document_without_known_words_gets_the_prior() -> None:
    encoder = Lda.fit(themed(4)[0], FEW)
    np.testing.assert_array_equal(encoder.encode(UNSEEN)[0], np.full(6, 1 / 6**0.5, np.float32))


def test_a_word_whose_topics_have_no_share_is_ignored() -> None:
    # Its only topic has the weight exp(psi(1e-3) - psi(9)), which is zero in float64.
    found = infer_topics(np.array([8.0, 1.0]), np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([1.0, 1e-3]), 5, 0.0)
    np.testing.assert_allclose(found, [10, 1e-3])
    assert infer_topics(np.array([1.0]), np.array([[0.0, 0.0]]), np.ones(2), 5, 0.0).tolist() == [1, 1]


def test_small_counts_with_a_small_prior_do_not_underflow() -> None:
    # exp(psi(1e-3)) is zero in float64, but not relative to the largest topic.
    found = infer_topics(np.array([1e-6]), np.array([[1.0, 0.5]]), np.full(2, 1e-3), 3, 0.0)
    assert found.sum() - 2e-3 == pytest.approx(1e-6, rel=1e-6)


def test_the_fit_takes_a_sample_of_documents_and_frequent_words() -> None:
    encoder = Lda.fit(themed(6)[0], {**FEW, "sample": "10", "words": "7"})
    assert encoder.exp_elog_beta.shape == (7, 6)


def test_gensim_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        Lda.fit(themed(7)[0], {"topics": "2", "passes": "1"})
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
