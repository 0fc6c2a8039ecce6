"""The truncated singular value decomposition of a sparse matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_NOISE = 1e-6
"""Singular values below this share of the largest are rounding errors, because they are roots of eigenvalues."""
_SMALL = 1000
"""A matrix whose smaller side is at most this is decomposed completely: the Lanczos iteration is not faster."""


def truncated_svd(matrix: Any, dim: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the right singular vectors V_k (v, k) and singular values (k,), descending, of a matrix (n, v) = U S V'.

    `matrix` is a sparse array of float64. k is `dim`, or the numerical rank if that is lower. `seed` draws the start
    vectors of the iteration. The entry of largest magnitude of each singular vector is positive.
    """
    if min(matrix.shape) > max(dim, _SMALL):
        vectors, values = _largest(matrix, dim, seed)
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


def _largest(matrix: Any, dim: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return right singular vectors (v, dim) and singular values (dim,), in any order, by an iteration.

    The Lanczos iteration starts from one vector. It can stop with an error where many singular values are equal, as for
    texts made from a few templates. LOBPCG iterates on a block of `dim` vectors and does not.
    """
    from scipy.sparse.linalg import ArpackError, svds

    rng = np.random.default_rng(seed)
    try:
        _, values, rows = svds(matrix, dim, v0=rng.standard_normal(min(matrix.shape)))
    except ArpackError:
        _, values, rows = svds(matrix, dim, solver="lobpcg", rng=rng)
    return rows.T, values.astype(np.float64)


def peak_signs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sign (k,) of the entry of largest magnitude of each column of vectors (v, k)."""
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return np.where(peaks < 0, -1.0, 1.0)
