"""The order of results: by value, equal ones by id."""

import numpy as np
from numpy.typing import NDArray

_DIGITS = 12


def smallest_first(
    values: NDArray[np.float64], ids: NDArray[np.int64], k: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the indices (at most `k`,) of the smallest of `values` (n,), smallest first, equal ones by `ids` (n,).

    Values that agree to 12 digits are equal: the last digits depend on the order of summation, which differs between
    equal documents in a snapshot and its tail. Also returns the values in this order, each raised to at least its
    predecessor.
    """
    order = np.lexsort((ids, rounded(values)))[:k]
    return order, np.maximum.accumulate(values[order])


def rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `values` (n,) with 12 digits each: equal ones then count as equal."""
    mantissas, exponents = np.frexp(values)
    found: NDArray[np.float64] = np.ldexp(np.round(mantissas, _DIGITS), exponents)
    return found
