import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from moverank.rerank.encoders.encoder import Documents
from moverank.rerank.plugins.methods.ccg import Ccg, Reals, em_step, first_grid, infer_locations, spread, window_means
from moverank.rerank.testing.encoder_checks import check_independent_rows_of
from tests.rerank.encoders.worlds import (
    UNSEEN,
    small_counts,
    themed,
)
from tests.rerank.plugins.methods import naive_topics

SMALL = {"extent": "6", "window": "2", "iterations": "40"}
EXTENTS, WINDOWS = st.integers(1, 4), st.integers(1, 4)
Start = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def start(seed: int, extent: int) -> Start:
    """Return random counts (n, w), a grid (w, cells) and shares (n, cells); every word and document has a count."""
    rng = np.random.default_rng(seed)
    n, w = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    counts = (
        rng.integers(0, 4, (n, w)) + 1.0 * (np.arange(n)[:, None] % w == np.arange(w)) + (np.arange(n) == 0)[:, None]
    )
    grid, theta = rng.random((w, extent**2)), rng.random((n, extent**2))
    return counts, grid / grid.sum(axis=0), theta / theta.sum(axis=1, keepdims=True)


@given(st.integers(0, 2**32), EXTENTS, WINDOWS)
def test_window_means_equal_the_naive_ones(seed: int, extent: int, window: int) -> None:
    window = min(window, extent)
    rng = np.random.default_rng(seed)
    cells, shares = rng.random((3, extent**2)), rng.random((3, extent**2))
    twin = [naive_topics.window_means(row, extent, window) for row in cells.tolist()]
    means = window_means(cells, extent, window)
    np.testing.assert_allclose(means, twin, rtol=1e-12)
    # Each is the transpose of the other, and both preserve sums.
    assert (means * shares).sum() == pytest.approx((cells * spread(shares, extent, window)).sum())
    np.testing.assert_allclose(means.sum(axis=1), cells.sum(axis=1))


@given(st.integers(0, 2**32), EXTENTS, WINDOWS)
def test_an_iteration_equals_the_naive_one(seed: int, extent: int, window: int) -> None:
    window = min(window, extent)
    counts, grid, theta = start(seed, extent)
    new_grid, new_theta, likelihood = em_step(csr_array(counts), grid, theta, window)
    plain = counts.tolist(), grid.tolist(), theta.tolist(), extent, window
    twin_grid, twin_theta = naive_topics.grid_step(*plain)
    np.testing.assert_allclose(new_grid, twin_grid, rtol=1e-9)
    np.testing.assert_allclose(new_theta, twin_theta, rtol=1e-9)
    assert likelihood == pytest.approx(naive_topics.grid_likelihood(*plain), rel=1e-9)


@given(st.integers(0, 2**32), EXTENTS, WINDOWS)
def test_the_likelihood_never_decreases(seed: int, extent: int, window: int) -> None:
    window = min(window, extent)
    counts, *begin = start(seed, extent)
    grid: Reals = begin[0]
    theta: Reals = begin[1]
    before = -np.inf
    for _ in range(30):
        grid, theta, likelihood = em_step(csr_array(counts), grid, theta, window)
        # Each token's logarithm is rounded, and the log-likelihood of a single word is zero.
        assert likelihood >= before - 1e-12 * (counts.sum() + abs(likelihood))
        before = likelihood
        np.testing.assert_allclose(grid.sum(axis=0), 1)
        np.testing.assert_allclose(theta.sum(axis=1), 1)


def test_the_likelihood_increases_in_float32() -> None:
    documents, _ = themed(1)
    counts = np.zeros((60, 39))
    for row, (bag, length) in enumerate(zip(documents.bags, documents.lengths, strict=True)):
        counts[row, bag.words] = bag.weights * length
    grid, theta = first_grid(counts.sum(axis=0), 36, 0), np.full((60, 36), 1 / 36, np.float32)
    likelihoods = []
    for _ in range(40):
        grid, theta, likelihood = em_step(csr_array(counts), grid, theta, 2)
        assert grid.dtype == theta.dtype == np.float32
        likelihoods.append(likelihood)
    assert np.all(np.diff(likelihoods) > -1e-5 * np.abs(likelihoods[1:]))
    # In the end each theme has its own words: 12 of 39 raise the log-likelihood by about ln 3 for each token.
    assert likelihoods[-1] - likelihoods[0] > 0.8 * counts.sum()


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(0, 5))
def test_inference_is_the_iteration_with_a_fixed_grid(seed: int, extent: int, steps: int) -> None:
    counts, grid, _ = start(seed, extent)
    theta = np.full((len(counts), extent**2), 1 / extent**2)
    for _ in range(steps):
        _, theta, _ = em_step(csr_array(counts), grid, theta, 1)
    for row, shares in zip(counts, theta, strict=True):
        used = np.flatnonzero(row)
        np.testing.assert_allclose(infer_locations(row[used], grid[used], steps), shares, rtol=1e-9, atol=1e-15)


def test_an_unused_cell_keeps_its_words() -> None:
    grid = np.array([[0.5, 0, 0.5, 0.5], [0.5, 1, 0.5, 0.5]])
    theta = np.array([[1.0, 0, 0, 0], [1.0, 0, 0, 0]])
    counts = csr_array(np.array([[3.0, 1.0], [0.0, 0.0]]))
    new_grid, new_theta, _ = em_step(counts, grid, theta, 1)
    np.testing.assert_array_equal(new_grid, [[0.75, 0, 0.5, 0.5], [0.25, 1, 0.5, 0.5]])
    np.testing.assert_array_equal(new_theta, theta)


@given(small_counts(), EXTENTS, WINDOWS)
def test_any_documents_can_be_fitted(documents: Documents, extent: int, window: int) -> None:
    options = {"extent": str(extent), "window": str(min(window, extent)), "iterations": "5"}
    encoder = Ccg.fit(documents, options)
    vectors = encoder.encode(documents)
    assert vectors.shape == (len(documents), encoder.dim) == (len(documents), extent**2)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)
    check_independent_rows_of(encoder, documents)


def test_a_document_without_known_words_has_equal_shares() -> None:
    encoder = Ccg.fit(themed(4)[0], SMALL)
    np.testing.assert_array_equal(encoder.encode(UNSEEN)[0], np.full(36, 1 / 6, np.float32))


def test_a_word_of_probability_zero_everywhere_is_ignored() -> None:
    # Probabilities are stored in float32, where the smallest underflow to zero.
    assert infer_locations(np.array([1.0]), np.zeros((1, 4)), 3).tolist() == [0.25] * 4


def test_the_fit_takes_a_sample_of_documents_and_frequent_words() -> None:
    encoder = Ccg.fit(themed(6)[0], {**SMALL, "sample": "10", "words": "7"})
    assert encoder.windows.shape == (7, 36)
    np.testing.assert_allclose(encoder.windows.sum(axis=0), 1, rtol=1e-5)
