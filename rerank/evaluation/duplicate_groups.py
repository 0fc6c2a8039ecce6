"""Duplicate texts, which raise the figures of every method (Sato et al. 2022, section 4)."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags, unit_sparse_rows

NEAR = 0.95
"""Two texts are near-duplicates if their word counts have at least this cosine."""
_BLOCK = 512


def duplicate_groups(bags: Bags, near: float = NEAR) -> NDArray[np.int64]:
    """Return for each bag (n,) the first bag of its group: groups are connected components of pairs of bags.

    A pair is connected if its cosine is at least `near`; with 1, only equal bags are. The cost is a sparse product of
    all pairs of bags, block by block.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(bags)
    if not n:
        return np.empty(0, np.int64)
    unit = unit_sparse_rows(bags, int(bags.words.max()) + 1)
    transposed, pairs = unit.T.tocsr(), []
    for start in range(0, n, _BLOCK):
        cosines = (unit[start : start + _BLOCK] @ transposed).tocoo()
        alike = cosines.data >= near - 1e-9
        pairs.append(np.stack([cosines.row[alike] + start, cosines.col[alike]]))
    rows, columns = np.concatenate(pairs, axis=1)
    graph = csr_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(n, n))
    _, group = connected_components(graph, directed=False)
    first = np.full(int(group.max()) + 1, n, np.int64)
    np.minimum.at(first, group, np.arange(n))
    groups: NDArray[np.int64] = first[group]
    return groups
