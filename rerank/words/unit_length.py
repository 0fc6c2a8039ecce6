"""Vectors scaled to length 1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def unit_rows(rows: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return rows (n, d) scaled to Euclidean length 1, float64; zero rows stay zero.

    The bits of a row do not depend on the other rows.
    """
    wide = np.ascontiguousarray(rows, np.float64)
    # Scaling by a power of two does not round, and prevents overflow and underflow of the squares.
    exponents = np.frexp(np.abs(wide).max(axis=1, keepdims=True, initial=0.0))[1]
    scaled = wide * np.ldexp(1.0, np.minimum(-exponents, 1000))
    # Not a matrix product: BLAS sums a row in an order that depends on the number of rows.
    lengths = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    unit: NDArray[np.float64] = scaled / np.where(lengths > 0, lengths, 1.0)
    return unit
