"""Fusion of several candidate lists.

Word vectors find paraphrases, word counts find rare words and names. Ranks can be added whatever the scores are.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_RANK_OFFSET = 60
"""The constant of Cormack et al. 2009: a larger one reduces the advantage of the first ranks."""


def reciprocal_ranks(rankings: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Fuse `rankings` of ids, each (n_i,) and best first, into one: ids (n,) and scores (n,), best first.

    The score is the sum of 1 / (60 + rank) over the rankings that contain the id (reciprocal rank fusion, Cormack et
    al. 2009). Equal scores are in the order of ids.
    """
    shares = np.concatenate([1.0 / (_RANK_OFFSET + 1.0 + np.arange(len(ranking))) for ranking in rankings])
    distinct, groups = np.unique(np.concatenate(rankings), return_inverse=True)
    sums = np.bincount(groups, shares, len(distinct)).astype(np.float64, copy=False)
    order = np.argsort(-sums, kind="stable")
    return distinct[order], sums[order]
