import logging

import numpy as np
import pytest
from gensim.models import LdaModel
from gensim.utils import FakeDict
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.rerank.encoders.encoder import Documents
from moverank.rerank.encoders.lda import Lda, infer, leanings
from moverank.rerank.errors import EncoderError
from tests import naive_topics
from tests.rerank.encoders.themes import (
    assert_each_for_itself,
    make_documents,
    neighbours_agree,
    small_documents,
    themed,
)

FEW = {"topics": "6", "passes": "10", "chunk": "20"}


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 6))
def test_leanings_are_those_of_the_twin(seed: int, k: int, w: int) -> None:
    topics = np.random.default_rng(seed).gamma(0.5, 2.0, (k, w)) + 1e-2
    np.testing.assert_allclose(leanings(topics), naive_topics.leanings(topics.tolist()), rtol=1e-9)


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(0, 6), st.integers(1, 5))
def test_inference_is_that_of_the_twin(seed: int, k: int, u: int, iterations: int) -> None:
    rng = np.random.default_rng(seed)
    counts, of_words, alpha = rng.uniform(0.1, 4, u), rng.uniform(0.01, 1, (u, k)), rng.uniform(0.05, 2, k)
    found = infer(counts, of_words, alpha, iterations, 0.0)
    twin = naive_topics.lda_gamma(counts.tolist(), of_words.tolist(), alpha.tolist(), iterations)
    np.testing.assert_allclose(found, twin, rtol=1e-9)
    # What a document has is shared out, and nothing is lost.
    assert found.sum() == pytest.approx(alpha.sum() + counts.sum())


def test_inference_agrees_with_gensim_on_the_same_topics() -> None:
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
    theirs, _ = model.inference(corpus)
    of_words = leanings(model.state.get_lambda())
    for bag, length, gamma in zip(bags, lengths, theirs, strict=True):
        mine = infer(bag.weights * length, of_words[bag.words], model.alpha, 5000, 1e-12)
        np.testing.assert_allclose(mine, gamma, rtol=1e-6, atol=1e-6)


def test_documents_of_one_theme_are_near() -> None:
    documents, labels = themed(2)
    vectors = Lda.fit(documents, FEW).encode(documents)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)
    assert neighbours_agree(vectors, labels) > 0.95


@settings(max_examples=25)
@given(small_documents(), st.sampled_from(["0", "1e-3", "2"]), st.sampled_from(["0", "1"]))
def test_any_documents_can_be_learned_from(documents: Documents, alpha: str, chunk: str) -> None:
    encoder = Lda.fit(documents, {"topics": "4", "passes": "2", "alpha": alpha, "chunk": chunk})
    vectors = encoder.encode(documents)
    assert vectors.shape == (len(documents), encoder.dim) == (len(documents), 4)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)
    assert_each_for_itself(encoder, documents)


def test_each_document_is_encoded_for_itself() -> None:
    documents, _ = themed(3, n=200, words=60)
    assert_each_for_itself(Lda.fit(documents, {"topics": "50", "passes": "1"}), documents)


def test_a_document_without_known_words_gets_the_prior() -> None:
    encoder = Lda.fit(themed(4)[0], FEW)
    stranger = make_documents([[1, 1]], np.array([0, 1000]))
    np.testing.assert_array_equal(encoder.encode(stranger)[0], np.full(6, 1 / 6**0.5, np.float32))


def test_a_word_of_topics_that_the_document_has_not_adds_nothing() -> None:
    # Its only topic has the weight exp(psi(1e-3) - psi(9)), which is zero in float64.
    found = infer(np.array([8.0, 1.0]), np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([1.0, 1e-3]), 5, 0.0)
    np.testing.assert_allclose(found, [10, 1e-3])
    assert infer(np.array([1.0]), np.array([[0.0, 0.0]]), np.ones(2), 5, 0.0).tolist() == [1, 1]


def test_small_counts_under_a_small_prior_do_not_vanish() -> None:
    # exp(psi(1e-3)) is zero in float64: only relative to the largest topic is anything left.
    found = infer(np.array([1e-6]), np.array([[1.0, 0.5]]), np.full(2, 1e-3), 3, 0.0)
    assert found.sum() - 2e-3 == pytest.approx(1e-6, rel=1e-6)


def test_the_same_seed_gives_the_same_bits_and_another_one_others() -> None:
    documents, _ = themed(5)
    one, two, other = (Lda.fit(documents, {**FEW, "seed": seed}).leanings for seed in "001")
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_the_fit_learns_from_a_sample_and_from_frequent_words() -> None:
    encoder = Lda.fit(themed(6)[0], {**FEW, "sample": "10", "words": "7"})
    assert encoder.leanings.shape == (7, 6)


def test_gensim_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        Lda.fit(themed(7)[0], {"topics": "2", "passes": "1"})
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("option", ["topics=0", "passes=x", "alpha=-1", "eta=nan", "iterations=0", "themes=3"])
def test_an_option_out_of_its_range_is_refused(option: str) -> None:
    key, _, value = option.partition("=")
    with pytest.raises(EncoderError, match=key):
        Lda.fit(themed(8)[0], {key: value})


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("alpha", np.ones(5)),
        ("alpha", np.zeros(6)),
        ("leanings", np.full((39, 6), -1, np.float32)),
        ("leanings", np.full((39, 6), np.nan, np.float32)),
        ("word_ids", np.zeros(39, np.int64)),
        ("iterations", np.array(0)),
    ],
)
def test_a_state_that_does_not_fit_together_is_refused(name: str, wrong: NDArray[np.float64]) -> None:
    state = Lda.fit(themed(9)[0], FEW).state()
    assert state["leanings"].shape == (39, 6)
    with pytest.raises(EncoderError, match="fit"):
        Lda.restore({**state, name: wrong})
    with pytest.raises(EncoderError, match=f"has no '{name}'"):
        Lda.restore({key: value for key, value in state.items() if key != name})
