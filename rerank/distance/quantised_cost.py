"""Quantised costs of a whole vocabulary to the query: one byte for each pair of words prunes most documents.

Each row has its least cost in float32 and, for each column, the excess over it as a byte: rounded down, and clipped at
255, so that quantised costs are lower bounds of the exact costs. Bytes need a quarter of the memory traffic of float32,
and four times as many fit into a vector instruction.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank import kernels
from moverank.rerank.distance.ground_cost import UNIT_ROUNDOFF, cost_floor, portion, product_margins, vector_norms
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.runtime.thread_pool import load_kernels_blas, parallel_for, single_threaded_blas

_LANES = 64  # columns are padded to whole SIMD vectors, because remainder loops take longer than the rest
_SAMPLE = 128
_CACHED = 2**18  # costs in a block: a megabyte, which stays in the CPU cache
_FAR = np.float32(1e30)  # larger than any cost: components are at most `embedding.LONGEST`, 1e15


@dataclass(frozen=True, slots=True, eq=False)
class QuantisedCost:
    """Costs `base + above * step`, none above the exact cost, from v vocabulary words to h query words."""

    nearest: NDArray[np.float32]
    """(v,) The least cost of each word."""
    base: NDArray[np.float32]
    """(v,) The least cost of each word to another word: shared mass does not move, and the rest of a shared word is in
    only one of the bags."""
    above: NDArray[np.uint8]
    """(v, w) The excess over `base`, with w >= h columns; no rows if they would exceed the memory limit."""
    base_column: NDArray[np.int32]
    """(v,) A column where the excess is 0; empty if `above` is."""
    query_index: NDArray[np.int32]
    """(v,) The column of each word itself, -1 for words that the query lacks."""
    step: float

    @classmethod
    def of(
        cls,
        query: QueryBag,
        vectors: NDArray[np.float32],
        norms: NDArray[np.float32],
        max_bytes: int,
        floor: NDArray[np.float32] | None = None,
    ) -> "QuantisedCost":
        """Compute the costs from `vectors` (v, d) with their `norms` (v,) to `query`, `above` in at most `max_bytes`.

        `floor` (v, h) float32, if given and not empty, is filled with the costs before quantisation.
        """
        v, h = len(vectors), len(query.bag)
        width = -(-h // _LANES) * _LANES
        rows = v if v * width <= max_bytes else 0
        inverse = np.float32(1 / _step(query, vectors, norms))
        # The difference, the product and the reciprocal are rounded, so that a byte may be too large by this factor.
        step = (1 - 6 * UNIT_ROUNDOFF) / float(inverse)
        base, above, base_column = np.empty(v, np.float32), np.empty((rows, width), np.uint8), np.empty(rows, np.int32)
        query_index = query.index_of_words(v)
        inputs = (vectors, np.ascontiguousarray(query.vectors), norms, vector_norms(query.vectors))
        float32_cost = np.empty((0, h), np.float32) if floor is None else floor
        outputs = (query_index, _FAR, inverse, base, above, base_column, float32_cost)
        margins, size = product_margins(vectors.shape[1]), max(1, _CACHED // h)
        if h > kernels.FEW:
            load_kernels_blas()
        with single_threaded_blas():
            parallel_for(
                lambda first, last: kernels.quantised_costs(first, last, size, *inputs, *margins, *outputs),
                v,
                most=portion(query.vectors),
            )
        nearest = base.copy()
        nearest[query_index >= 0] = 0
        return cls(nearest, base, above, base_column, query_index, step)


def _step(query: QueryBag, vectors: NDArray[np.float32], norms: NDArray[np.float32]) -> float:
    """Return a step with which almost all differences fit into a byte, estimated from a sample."""
    stride = max(1, len(vectors) // _SAMPLE)
    # Contiguous copies: for another memory layout the kernels would be compiled again.
    sample = cost_floor(vectors[::stride].copy(), query.vectors, norms[::stride].copy())
    largest = float(np.ptp(sample, axis=1).max(initial=0))
    return max(largest, 1e-30) / 255
