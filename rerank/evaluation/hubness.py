"""Hubness: some documents are among the nearest neighbours of very many others (Radovanović et al. 2010)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError


def occurrences(neighbours: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return how often (n,) each of `n` documents is among the k nearest: `neighbours` (m, k), -1 for none.

    Raises EvaluationError for a neighbour that is not below `n`.
    """
    counts: NDArray[np.int64] = np.bincount(neighbours[neighbours >= 0], minlength=n).astype(np.int64)
    if len(counts) > n:
        raise EvaluationError(f"there is a neighbour {len(counts) - 1} but only {n} documents")
    return counts


def skewness(counts: NDArray[np.int64]) -> float:
    """Return E((N_k - mean)^3) / deviation^3 of `counts` N_k (n,): far above 0 with hubs, 0 if all are equal."""
    centred = counts - counts.mean()
    deviation = float(np.sqrt(np.mean(centred**2)))
    return float(np.mean(centred**3)) / deviation**3 if deviation > 0 else 0.0


def hubness(neighbours: Sequence[NDArray[np.int64]], n: int, k: int = 10) -> float:
    """Return the skewness of `k`-occurrence among `n` documents.

    `neighbours` are the rows (at least k,) of the documents nearest to each query, nearest first; fewer if the others
    are no neighbours. Raises EvaluationError if there is no document, or `k` is below 1.
    """
    if min(k, n) < 1:
        raise EvaluationError("hubness needs a document and a k of 1 or more")
    return skewness(occurrences(np.concatenate([np.empty(0, np.int64), *(rows[:k] for rows in neighbours)]), n))
