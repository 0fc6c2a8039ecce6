"""The truncated singular value decomposition of a sparse matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_NOISE = 1e-6
"""Singular values below this share of the largest are rounding errors, because they are roots of eigenvalues."""
_SMALL = 400
"""A matrix whose smaller side is at most this is decomposed completely: the Lanczos iteration is not faster."""


def truncated_svd(matrix: Any, dim: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the right singular vectors V_k (v, k) and singular values (k,), descending, of a matrix (n, v) = U S V'.

    `matrix` is a sparse array of float64. k is `dim`, or the numerical rank if that is lower. `seed` draws the start
    vector of the Lanczos iteration. The entry of largest magnitude of each singular vector is positive.
    """
    if min(matrix.shape) > max(dim, _SMALL):
        from scipy.sparse.linalg import svds

        start = np.random.default_rng(seed).standard_normal(min(matrix.shape))
        _, values, rows = svds(matrix, dim, v0=start)
        vectors = rows.T
    elif matrix.shape[0] < matrix.shape[1]:
        # The eigenvectors of A A' are U, its eigenvalues the squares of S, and A' U = V S.
        squares, left = np.linalg.eigh((matrix @ matrix.T).toarray())
        values = np.sqrt(np.maximum(squares, 0))
        vectors = (matrix.T @ left) / np.where(values > 0, values, 1)
    else:
        squares, vectors = np.linalg.eigh((matrix.T @ matrix).toarray())
        values = np.sqrt(np.maximum(squares, 0))
    order = np.argsort(-values, kind="stable")[:dim]
    order = order[values[order] > _NOISE * values.max()]
    vectors, values = vectors[:, order], values[order]
    return vectors * peak_signs(vectors), values


def peak_signs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sign (k,) of the entry of largest magnitude of each column of vectors (v, k)."""
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return np.where(peaks < 0, -1.0, 1.0)
