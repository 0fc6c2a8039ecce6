"""The order of results: by value, equal ones by id."""

import numpy as np
from numpy.typing import NDArray

_DIGITS = 12


def best_first_order(values: NDArray[np.float64], ids: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the indices (n,) that sort `values` (n,), smallest first, and equal ones by `ids` (n,).

    Values that agree to 12 digits are equal: sums over the words of a document in another order differ in the last
    digits, and so do those of equal documents in a snapshot and its tail.
    """
    mantissas, exponents = np.frexp(values)
    return np.lexsort((ids, np.ldexp(np.round(mantissas, _DIGITS), exponents)))
