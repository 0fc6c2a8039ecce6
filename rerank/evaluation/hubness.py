"""Hubness: some documents are near neighbours of far too many others (Radovanović et al. 2010)."""

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError


def occurrences(places: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return how often (n,) each of n documents is among the k nearest of others: `places` (m, k), -1 for none."""
    found: NDArray[np.int64] = np.bincount(places[places >= 0], minlength=n).astype(np.int64)
    if len(found) > n:
        raise EvaluationError(f"there is a neighbour {len(found) - 1} but only {n} documents")
    return found


def skewness(counts: NDArray[np.int64]) -> float:
    """Return E((N_k - mean)^3) / deviation^3 of occurrences N_k (n,): far above 0 means hubs; 0 if all are equal."""
    centred = counts - counts.mean()
    deviation = float(np.sqrt(np.mean(centred**2)))
    return float(np.mean(centred**3)) / deviation**3 if deviation > 0 else 0.0


def hubness(distances: NDArray[np.float64], k: int = 10) -> float:
    """Return the skewness of k-occurrence for distances (m, n) from m queries; infinite ones are no neighbours."""
    n = distances.shape[1]
    taken = min(k, n)
    if taken < 1:
        raise EvaluationError("hubness needs a document and a k of 1 or more")
    places = np.argsort(distances, axis=1, kind="stable")[:, :taken]
    there = np.take_along_axis(distances, places, axis=1) < np.inf
    return skewness(occurrences(np.where(there, places, -1), n))
