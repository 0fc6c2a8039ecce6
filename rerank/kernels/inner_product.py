"""The inner product of two arrays, in vector instructions."""

from moverank.rerank.kernels.compiled import compiled
from moverank.rerank.kernels.flags import SUMS


@compiled(fastmath=SUMS)
def inner_product(one, other):  # type: ignore[no-untyped-def]
    """Return the inner product of `one` (n,) and the first n numbers of `other`, summed in float64."""
    total = 0.0
    for c in range(len(one)):
        total += one[c] * other[c]
    return total
