from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, linalg

from moverank.rerank.encoders import lsi as module
from moverank.rerank.encoders.lsi import truncated_svd


def test_a_small_example() -> None:
    matrix = np.array([[1.0, 1], [2, -2], [-2, 2], [-1, -1]])
    words, values = truncated_svd(csr_array(matrix.T), 2, 0)
    np.testing.assert_allclose(values, [4, 2])
    # The eigenvectors v of A'A are mapped to A v / s.
    np.testing.assert_allclose(np.abs(words[:, 0]), [0, 0.5**0.5, 0.5**0.5, 0], atol=1e-12)
    np.testing.assert_allclose(words[:, 1] * np.sign(words[0, 1]), [0.5**0.5, 0, 0, -(0.5**0.5)], atol=1e-12)


@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
def test_the_result_is_that_of_a_dense_decomposition(seed: int, n: int, v: int, dim: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 3, (n, v)) * rng.uniform(0.5, 1, (n, v))
    matrix[0, 0] += 1
    words, values = truncated_svd(csr_array(matrix), dim, 0)
    exact = np.linalg.svd(matrix, compute_uv=False)
    rank = int((exact > 1e-6 * exact[0]).sum())
    assert words.shape == (v, min(dim, rank))
    # Eigenvalues of the product with the transpose are off by the unit roundoff times the largest: at the rank's limit
    # of 1e-6, their roots are off by 1e-10 of the largest root.
    rounding = 1e-9 * exact[0]
    np.testing.assert_allclose(values, exact[: len(values)], rtol=1e-6, atol=rounding)
    np.testing.assert_allclose(words.T @ words, np.eye(len(values)), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(matrix @ words, axis=0), values, rtol=1e-6, atol=rounding)


@pytest.mark.parametrize("shape", [(40, 70), (70, 40)])
def test_lanczos_agrees_with_the_complete_decomposition(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    matrix = csr_array(rng.uniform(0, 1, shape) * (rng.random(shape) < 0.3))
    words, values = truncated_svd(matrix, 6, 0)
    monkeypatch.setattr(module, "_SMALL", 5)
    lanczos_words, lanczos_values = truncated_svd(matrix, 6, 0)
    np.testing.assert_allclose(lanczos_values, values, rtol=1e-9)
    np.testing.assert_allclose(lanczos_words, words, atol=1e-7)
    assert lanczos_words.tobytes() == truncated_svd(matrix, 6, 0)[0].tobytes()


def _from_templates(n: int) -> tuple[csr_array, np.ndarray]:
    """Return texts of unit length from four templates, each with an own word (n, v), and their singular values."""
    templates = np.random.default_rng(0).uniform(0, 1, (4, 12))[np.arange(n) % 4]
    dense = np.hstack([templates, np.eye(n)])
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    return csr_array(dense), np.linalg.svd(dense, compute_uv=False)


def test_texts_from_templates_are_decomposed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of their singular values are equal: the Lanczos iteration stops with an error for some of these seeds."""
    monkeypatch.setattr(module, "_SMALL", 5)
    matrix, _ = _from_templates(500)
    for seed in range(6):
        words, values = truncated_svd(matrix, 100, seed)
        assert words.shape == (matrix.shape[1], 100)
        np.testing.assert_allclose(np.linalg.norm(matrix @ words, axis=0), values, rtol=1e-6)
        np.testing.assert_allclose(words.T @ words, np.eye(100), atol=1e-6)


def test_lobpcg_takes_over_from_lanczos(monkeypatch: pytest.MonkeyPatch) -> None:
    solvers: list[str] = []

    def svds(*arguments: Any, solver: Any = "arpack", **options: Any) -> Any:
        solvers.append(solver)
        if solver == "arpack":
            raise linalg.ArpackError(3)
        return real(*arguments, solver=solver, **options)

    real: Any = linalg.svds
    monkeypatch.setattr(linalg, "svds", svds)
    monkeypatch.setattr(module, "_SMALL", 5)
    matrix, exact = _from_templates(60)
    words, values = truncated_svd(matrix, 8, 0)
    assert solvers == ["arpack", "lobpcg"]
    np.testing.assert_allclose(values, exact[:8], rtol=1e-6)
    np.testing.assert_allclose(words.T @ words, np.eye(8), atol=1e-6)
    assert words.tobytes() == truncated_svd(matrix, 8, 0)[0].tobytes()
