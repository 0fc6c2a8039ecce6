"""Products of matrices whose rows do not depend on each other, down to the last bit."""

import numpy as np
from numpy.typing import NDArray

_BLOCK = 4096


def row_products(rows: NDArray[np.floating], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `rows @ matrix` for rows (n, a) and a matrix (a, b), float64.

    BLAS sums a row in another order when there are other rows beside it. The sparse product does not: it adds up the
    terms of each row one by one. It takes about four times as long.
    """
    from scipy.sparse import csr_array

    count, width = rows.shape
    found = np.empty((count, matrix.shape[1]))
    columns = np.tile(np.arange(width, dtype=np.int32), min(count, _BLOCK))
    for first in range(0, count, _BLOCK):
        block = rows[first : first + _BLOCK].astype(np.float64)
        starts = width * np.arange(len(block) + 1)
        found[first : first + _BLOCK] = csr_array((block.ravel(), columns[: block.size], starts), block.shape) @ matrix
    return found
