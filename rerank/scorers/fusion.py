"""Fusion of rankings: of several candidate lists, or of a distance and a scorer.

Word vectors find paraphrases, word counts find rare words and names. Ranks can be added whatever the scores are; scores
can be added after scaling to the same range.
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
    shares = [1.0 / (_RANK_OFFSET + 1.0 + np.arange(len(ranking))) for ranking in rankings]
    return _summed(np.concatenate(rankings), np.concatenate(shares))


def linear(
    rankings: Sequence[NDArray[np.int64]], values: Sequence[NDArray[np.float64]], shares: Sequence[float]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Fuse rankings by a weighted sum of scaled values: ids (n,) and scores (n,), best first.

    `rankings` are arrays of ids (n_i,), `values` the values (n_i,) of these ids, larger is better, and `shares` the
    weights of the rankings. The values of a ranking are scaled to the range from 0 (its worst) to 1 (its best); an id
    that a ranking does not contain gets 0 there. Equal scores are in the order of ids.
    """
    weighted = [share * _scaled(value) for share, value in zip(shares, values, strict=True)]
    return _summed(np.concatenate(rankings), np.concatenate(weighted))


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values (n,) scaled to the range from 0 to 1; equal values become 1."""
    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    scaled: NDArray[np.float64] = (values - low) / (high - low) if high > low else np.ones(len(values))
    return scaled


def _summed(ids: NDArray[np.int64], shares: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the distinct ids and the sums of their shares, the largest first."""
    distinct, groups = np.unique(ids, return_inverse=True)
    sums = np.bincount(groups, shares, len(distinct)).astype(np.float64, copy=False)
    order = np.argsort(-sums, kind="stable")
    return distinct[order], sums[order]
