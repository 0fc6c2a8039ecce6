"""Inner products of many vectors with a few: BLAS takes two to three times as long where there are only a few."""

import numpy as np

from moverank.rerank.kernels.compiled import compiled
from moverank.rerank.kernels.flags import SUMS
from moverank.rerank.kernels.four_products import four_products

FEW = 24
"""Columns: with more, BLAS is faster, which must be loaded (`rerank.runtime.threads.load_kernels_blas`)."""


@compiled(fastmath=SUMS)
def products(vectors, query, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n, h) with the inner products of `vectors` (n, d) and `query` (h, d), all float32.

    Four columns at a time share each load of a vector.
    """
    h, d = query.shape
    if h > FEW:
        np.dot(vectors, query.T, out)
        return
    fours = h - h % 4
    for i in range(len(vectors)):
        vector = vectors[i]
        for j in range(0, fours, 4):
            out[i, j], out[i, j + 1], out[i, j + 2], out[i, j + 3] = four_products(vector, query, j)
        for j in range(fours, h):
            product, one = np.float32(0), query[j]
            for x in range(d):
                product += vector[x] * one[x]
            out[i, j] = product


@compiled(fastmath=SUMS)
def products_with_one(first, last, vectors, one, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n,) with the inner products of `vectors` (n, d) float32 and `one` (d,) float64, summed in float64.

    BLAS rounds the product of a vector differently among other vectors; this one is always the same.
    """
    for i in range(first, last):
        vector, product = vectors[i], 0.0
        for x in range(len(one)):
            product += vector[x] * one[x]
        out[i] = product
