"""What every word of a vocabulary costs a query, in little more than a byte for each pair: enough for most documents.

Beside the least cost of each word, by how much the others are above it: rounded down, and cut off where they are too
large to matter, so that they stay bounds of the exact ones. A byte is a quarter of the memory that has to be read, and
four times as many fit into a vector instruction.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.distance.ground_cost import UNIT_ROUNDOFF, cost_floor, product_margins, vector_norms
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.runtime.threads import parallel_for, single_threaded_blas

_LANES = 64  # columns are filled up to whole vectors, for loops over the remainder take longer than the rest
_SAMPLE = 128
_CACHED = 2**18  # costs that are looked at again at once: a megabyte
_FAR = np.float32(1e30)  # farther than any vector: `embedding.LONGEST` is 1e15


@dataclass(frozen=True, slots=True, eq=False)
class QuantisedCost:
    """The least cost `nearest` (v,) float32 of each word, and by how much each is `above` (v, w) uint8 its `base` (v,).

    `base` is the least cost but for the word itself: what both bags have of a word does not move, and the rest of it is
    in one of them only. `where` (v,) is its column; `place` (v,) the query's place of each word, -1 where it does not
    have it. No `base + above * step` is above the exact cost. `above` has no rows where the bytes were more than the
    caller wanted to spend: then `nearest` is all that is known.
    """

    nearest: NDArray[np.float32]
    base: NDArray[np.float32]
    above: NDArray[np.uint8]
    where: NDArray[np.int32]
    place: NDArray[np.int32]
    step: float

    @classmethod
    def of(
        cls,
        query: QueryBag,
        vectors: NDArray[np.float32],
        norms: NDArray[np.float32],
        spend: int,
        floor: NDArray[np.float32] | None = None,
    ) -> "QuantisedCost":
        """Compute the costs of a vocabulary (v, d) with its `norms`, in at most `spend` bytes for the matrix.

        `floor` (v, h) float32 is filled with the costs before they are rounded, if it is given and has rows.
        """
        from moverank.rerank.kernels.costs import coarse_costs

        v, h = len(vectors), len(query.bag)
        width = -(-h // _LANES) * _LANES
        rows = v if v * width <= spend else 0
        inverse = np.float32(1 / _unit(query, vectors, norms))
        # The difference, the product and the reciprocal are rounded: a whole number may be too large by that.
        step = (1 - 6 * UNIT_ROUNDOFF) / float(inverse)
        base, above, where = np.empty(v, np.float32), np.empty((rows, width), np.uint8), np.empty(rows, np.int32)
        place = query.places(v)
        given = (vectors, np.ascontiguousarray(query.vectors.T), norms, vector_norms(query.vectors))
        fine = np.empty((0, h), np.float32) if floor is None else floor
        kept = (place, _FAR, inverse, base, above, where, fine)
        margins, size = product_margins(vectors.shape[1]), max(1, _CACHED // h)
        with single_threaded_blas():
            parallel_for(lambda first, last: coarse_costs(first, last, size, *given, *margins, *kept), v)
        nearest = base.copy()
        nearest[place >= 0] = 0
        return cls(nearest, base, above, where, place, step)


def _unit(query: QueryBag, vectors: NDArray[np.float32], norms: NDArray[np.float32]) -> float:
    """Return a step with which almost all differences fit into a byte, as seen by a sample."""
    stride = max(1, len(vectors) // _SAMPLE)
    # Arrays without gaps, as everywhere else: kernels are compiled and loaded once more for others.
    sample = cost_floor(vectors[::stride].copy(), query.vectors, norms[::stride].copy())
    largest = float(np.ptp(sample, axis=1).max(initial=0))
    return max(largest, 1e-30) / 255
