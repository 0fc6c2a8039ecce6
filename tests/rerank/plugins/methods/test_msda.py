import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.rerank.encoders.encoder import Documents
from moverank.rerank.plugins.methods import msda
from moverank.rerank.plugins.methods.msda import Msda, denoiser
from moverank.rerank.testing.encoder_checks import check_independent_rows_of
from tests.rerank.encoders.worlds import (
    UNSEEN,
    small_counts,
    themed,
)
from tests.rerank.plugins.methods import naive_topics

Matrix = NDArray[np.float64]


def with_ones(rows: Matrix) -> Matrix:
    return np.hstack([rows, np.ones((len(rows), 1))])


def closed_form(inputs: Matrix, targets: Matrix, noise: float) -> Matrix:
    rows = with_ones(inputs)
    return denoiser(rows.T @ rows, rows.T @ targets, noise)


@given(
    st.integers(0, 2**32),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.2, 0.5, 0.99]),
)
def test_the_closed_form_is_the_mean_over_every_corrupted_copy(seed: int, n: int, d: int, r: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    inputs, targets = rng.standard_normal((n, d)), rng.standard_normal((n, r))
    twin = naive_topics.denoiser(inputs.tolist(), targets.tolist(), noise, 1e-5)
    # With few documents E[Q] is singular but for its ridge, which amplifies rounding errors by 1e5.
    np.testing.assert_allclose(closed_form(inputs, targets, noise), twin, rtol=1e-6, atol=1e-8)


def test_the_closed_form_is_the_least_squares_fit_to_corrupted_copies() -> None:
    rng = np.random.default_rng(1)
    inputs = rng.random((30, 6)) * (rng.random((30, 6)) < 0.6)
    copies, noise = 4000, 0.4
    corrupted = np.vstack([inputs] * copies) * (rng.random((30 * copies, 6)) > noise)
    learned, *_ = np.linalg.lstsq(with_ones(corrupted), np.vstack([inputs] * copies), rcond=None)
    np.testing.assert_allclose(closed_form(inputs, inputs, noise), learned, atol=0.02)


def test_without_noise_each_word_restores_itself() -> None:
    inputs = np.random.default_rng(2).standard_normal((40, 5))
    np.testing.assert_allclose(closed_form(inputs, inputs, 0.0), np.eye(6)[:, :5], atol=1e-5)


def test_one_block_is_the_plain_autoencoder() -> None:
    documents, _ = themed(3)
    encoder = Msda.fit(documents, {"layers": "2", "noise": "0.3"})
    inputs = dense_inputs(documents)
    first = closed_form(inputs, inputs, 0.3)
    np.testing.assert_allclose(encoder.first, first, rtol=1e-5, atol=1e-6)
    hidden = np.tanh(with_ones(inputs) @ first)
    np.testing.assert_allclose(encoder.deeper[0], closed_form(hidden, hidden, 0.3), rtol=1e-3, atol=1e-3)


def test_each_block_restores_the_frequent_words() -> None:
    documents, _ = themed(4)
    encoder = Msda.fit(documents, {"features": "7", "noise": "0.3"})
    inputs, blocks = dense_inputs(documents), 6
    ranked = np.argsort(-np.count_nonzero(inputs, axis=0), kind="stable")
    targets = inputs[:, np.sort(ranked[:7])]
    layer, bias = np.zeros((39, 7)), np.zeros(7)
    for block in range(blocks):
        words = ranked[block::blocks]
        matrix = closed_form(inputs[:, words], targets, 0.3)
        layer[words] = matrix[:-1] / blocks
        bias += matrix[-1] / blocks
    np.testing.assert_allclose(encoder.first, np.vstack([layer, bias]), rtol=1e-5, atol=1e-6)


def dense_inputs(documents: Documents) -> Matrix:
    rows = np.zeros((len(documents), len(documents.word_ids)))
    for row, bag in zip(rows, documents.bags, strict=True):
        row[bag.words] = np.sqrt(bag.weights)
    return rows


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("centre", ["yes", "no"])
def test_encoding_equals_the_naive_one(layers: int, centre: str) -> None:
    documents, _ = themed(5, n=20)
    encoder = Msda.fit(documents, {"layers": str(layers), "features": "9", "centre": centre})
    twin = naive_topics.msda(
        dense_inputs(documents).tolist(), encoder.first.tolist(), encoder.deeper.tolist(), encoder.means.tolist()
    )
    vectors = encoder.encode(documents)
    assert vectors.shape == (20, encoder.dim) == (20, 9 * layers)
    np.testing.assert_allclose(vectors, twin, rtol=1e-5, atol=1e-6)


def test_the_means_are_those_of_the_training_documents() -> None:
    documents, _ = themed(6)
    options = {"features": "9", "layers": "2"}
    centred, plain = Msda.fit(documents, options), Msda.fit(documents, {**options, "centre": "no"})
    assert not plain.means.any()
    hidden = np.tanh(dense_inputs(documents) @ centred.first[:-1] + centred.first[-1])
    np.testing.assert_allclose(centred.means[0], hidden.mean(axis=0), rtol=1e-5, atol=1e-7)


@given(small_counts(), st.sampled_from(["0", "0.5", "0.99"]), st.sampled_from(["1", "3"]), st.sampled_from(["2", "10"]))
def test_any_documents_can_be_fitted(documents: Documents, noise: str, layers: str, features: str) -> None:
    encoder = Msda.fit(documents, {"noise": noise, "layers": layers, "features": features})
    vectors = encoder.encode(documents)
    lengths = np.linalg.norm(vectors, axis=1)
    # A document equal to all others is equal to the mean.
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))
    check_independent_rows_of(encoder, documents)


def test_rows_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    documents, _ = themed(8, n=200, words=60)
    encoder = Msda.fit(documents, {"layers": "2", "features": "50"})
    whole = encoder.encode(documents)
    monkeypatch.setattr(msda, "_BLOCK", 7)
    np.testing.assert_array_equal(encoder.encode(documents), whole)
    check_independent_rows_of(encoder, documents)


def test_a_document_without_known_words_gets_the_vector_of_the_biases() -> None:
    encoder = Msda.fit(themed(9)[0], {"features": "9", "centre": "no"})
    bias = np.tanh(encoder.first[-1].astype(np.float64))
    np.testing.assert_allclose(encoder.encode(UNSEEN)[0], bias / np.linalg.norm(bias), rtol=1e-6)
    assert encoder.encode(UNSEEN.take(np.empty(0, np.int64))).shape == (0, 9)


def test_the_fit_takes_a_sample_of_documents_and_frequent_words() -> None:
    documents, _ = themed(10)
    encoder = Msda.fit(documents, {"sample": "10", "words": "7", "features": "3"})
    assert encoder.first.shape == (8, 3)
    again = Msda.fit(documents, {"sample": "10", "words": "7", "features": "3"})
    np.testing.assert_array_equal(encoder.first, again.first)
