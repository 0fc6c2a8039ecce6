"""Weights of all bags of a collection, multiplied and divided without the temporary arrays of numpy."""

from moverank.rerank.kernels.compiled import compiled


@compiled()
def multiply(first, last, words, weights, values, out):  # type: ignore[no-untyped-def]
    """Fill `out` (t,) with the `weights` (t,) of entries times the `values` (v,) of their `words` (t,)."""
    for entry in range(first, last):
        out[entry] = weights[entry] * values[words[entry]]


@compiled()
def divide(first, last, starts, divisors, weights):  # type: ignore[no-untyped-def]
    """Divide the `weights` (t,) of the entries of each bag i by the bag's one of `divisors` (n,), in place."""
    for i in range(first, last):
        for entry in range(starts[i], starts[i + 1]):
            weights[entry] /= divisors[i]
