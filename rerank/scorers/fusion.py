"""Joining rankings: of candidates, or of a distance and a scorer.

Vectors find what means the same, word counts find rare words and names. Ranks can be joined whatever the scores mean;
scores can where both are brought to the same span.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_SLOW = 60
"""The constant of Cormack et al. 2009: how little the first ranks stand out."""


def reciprocal_ranks(rankings: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Join rankings of ids, each (n_i,) and best first, into one: ids (n,) and scores (n,), best first.

    The score is the sum of 1 / (60 + rank) over the rankings that have the id (reciprocal rank fusion, Cormack et al.
    2009). Equal scores are in the order of ids.
    """
    shares = [1.0 / (_SLOW + 1.0 + np.arange(len(ranking))) for ranking in rankings]
    return _summed(np.concatenate(rankings), np.concatenate(shares))


def linear(
    rankings: Sequence[NDArray[np.int64]], values: Sequence[NDArray[np.float64]], shares: Sequence[float]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Join rankings of ids by their `values`, each (n_i,), larger being better: ids (n,) and scores (n,), best first.

    The values of a ranking are brought to the span from 0 (the worst it has) to 1 (the best), and count by its share.
    An id that a ranking does not have gets 0 there. Equal scores are in the order of ids.
    """
    counted = [share * _spanned(value) for share, value in zip(shares, values, strict=True)]
    return _summed(np.concatenate(rankings), np.concatenate(counted))


def _spanned(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring values (n,) to the span from 0 to 1; where all are the same, all are best."""
    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    spanned: NDArray[np.float64] = (values - low) / (high - low) if high > low else np.ones(len(values))
    return spanned


def _summed(ids: NDArray[np.int64], shares: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Add up the shares of each id, and put the largest sum first."""
    found, places = np.unique(ids, return_inverse=True)
    sums = np.bincount(places, shares, len(found)).astype(np.float64, copy=False)
    order = np.argsort(-sums, kind="stable")
    return found[order], sums[order]
