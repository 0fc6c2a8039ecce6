"""What is proven about a list of hits: of one search, or of several in the shards of a collection together."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.ranking import largest_error

_Floats = NDArray[np.float64]


class Certificate(NamedTuple):
    """Whether a list is `proven` to hold the best documents, and its `largest_error`, 0 if it is; see `Ranking`."""

    proven: bool
    largest_error: float


def certificate(values: _Floats, unsolved_bounds: _Floats, floor: float, k: int, within: float) -> Certificate:
    """Return what is proven about hits with `values` (m,), increasing, at most `k` of them and none above `within`.

    `unsolved_bounds` (u,) are lower bounds of the values of documents that were compared, but not solved; of each shard
    the k smallest are enough. `floor` is one of all documents that were not compared, however many there are: inf if
    there are none, -inf if nothing is known of them.

    A list of k is proven if no other document can be nearer than its last hit, a shorter one if none can be as near as
    `within`, the limit itself included. The error is how much farther the last hit may be than the true one in its
    place; if the list ends at the limit before it has k, how far below the limit a missing document may be. It does not
    count documents of which nothing is known.
    """
    lowest = min(floor, float(unsolved_bounds.min(initial=np.inf)))
    full = len(values) == k
    if lowest == np.inf or (lowest >= values[-1] if full else lowest > within):
        return Certificate(proven=True, largest_error=0.0)
    uncompared = np.full(max(1, len(values)) if np.isfinite(floor) else 0, floor)
    bounds = np.concatenate([unsolved_bounds, uncompared])
    if not full and np.isfinite(within):
        return Certificate(proven=False, largest_error=max(0.0, within - float(bounds.min(initial=within))))
    error = largest_error(values, bounds, len(values)) if len(values) else 0.0
    return Certificate(proven=False, largest_error=error)
