"""Texts that are there twice: they make every method look better than it is (Sato et al. 2022, section 4)."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags

NEAR = 0.95
"""Cosine of word counts from which two texts are near-duplicates."""
_BLOCK = 512


def duplicate_groups(bags: Bags, near: float = NEAR) -> NDArray[np.int64]:
    """Return for each bag (n,) the first one that it is joined to by bags whose cosine is at least `near`, or itself.

    A `near` of 1 finds equal bags only. The work is a sparse product of all bags, block by block.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(bags)
    if not n:
        return np.empty(0, np.int64)
    lengths = np.sqrt(np.add.reduceat(np.square(bags.weights), bags.starts[:-1]))
    weights = bags.weights / np.repeat(lengths, np.diff(bags.starts))
    unit = csr_array((weights, bags.words, bags.starts), shape=(n, int(bags.words.max()) + 1))
    turned, pairs = unit.T.tocsr(), []
    for start in range(0, n, _BLOCK):
        cosines = (unit[start : start + _BLOCK] @ turned).tocoo()
        alike = cosines.data >= near - 1e-9
        pairs.append(np.stack([cosines.row[alike] + start, cosines.col[alike]]))
    rows, columns = np.concatenate(pairs, axis=1)
    graph = csr_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(n, n))
    _, group = connected_components(graph, directed=False)
    first = np.full(int(group.max()) + 1, n, np.int64)
    np.minimum.at(first, group, np.arange(n))
    found: NDArray[np.int64] = first[group]
    return found
