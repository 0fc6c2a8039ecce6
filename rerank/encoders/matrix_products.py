"""Matrix products in which the bits of a row do not depend on the other rows."""

import numpy as np
from numpy.typing import NDArray

_BLOCK = 4096


def row_products(rows: NDArray[np.floating], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `rows @ matrix` (n, b) for `rows` (n, a) and a `matrix` (a, b), in float64.

    BLAS sums a row in an order that depends on the number of rows. The sparse product sums the terms of each row one by
    one, and takes about four times as long.
    """
    from scipy.sparse import csr_array

    count, width = rows.shape
    products = np.empty((count, matrix.shape[1]))
    columns = np.tile(np.arange(width, dtype=np.int32), min(count, _BLOCK))
    for first in range(0, count, _BLOCK):
        block = rows[first : first + _BLOCK].astype(np.float64)
        starts = width * np.arange(len(block) + 1)
        sparse = csr_array((block.ravel(), columns[: block.size], starts), block.shape)
        products[first : first + _BLOCK] = sparse @ matrix
    return products
