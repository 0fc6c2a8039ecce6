"""Looks up ids in sorted ids."""

import numpy as np
from numpy.typing import NDArray


def lookup(ids: NDArray[np.int64], sorted_ids: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Look up `ids` (n,) in the strictly increasing `sorted_ids` (w,).

    Returns their indices (n,), and whether each id is present (n,); the index of an absent id is arbitrary.
    """
    indices = np.searchsorted(sorted_ids, ids)
    present = indices < len(sorted_ids)
    present[present] = sorted_ids[indices[present]] == ids[present]
    return indices, present
