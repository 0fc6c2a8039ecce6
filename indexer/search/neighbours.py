"""The nearest documents of every document: the graph that classification and clustering begin with."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Keys of the n documents that have a bag, and for each the k nearest others, nearest first.

    `places` (n, k) int64 are places in `keys`, `distances` (n, k) float64 theirs; -1 and infinity where there are fewer
    than k others.
    """

    keys: tuple[str, ...]
    places: NDArray[np.int64]
    distances: NDArray[np.float64]
