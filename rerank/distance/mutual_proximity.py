"""Mutual proximity: a distance counts as small only where both sides find it small (Schnitzer et al. 2012).

It takes the hubs out of a space: a document that is near to all is near to none. What is returned is 1 - MP, from 0 to
1, small for near; infinite distances stay infinite, for they are no neighbours.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError

Kind = Literal["gaussian", "gamma"]
_Floats = NDArray[np.float64]


def empirical(distances: _Floats, among: _Floats) -> _Floats:
    """Return 1 - MP (m, n) of queries and documents, counted (Schnitzer et al. 2012, eq. 4).

    `distances` (m, n) are those of the queries from the documents, `among` (n, n) those of the documents among
    themselves. MP is the share of other documents that are farther away from both than they are from each other. A
    query that is a document itself has an infinite distance from itself, and so has a document: neither is counted.
    Where the shares of two documents are the same, the nearer is the nearer still.
    """
    n = distances.shape[1]
    if among.shape != (n, n):
        raise EvaluationError(f"{n} documents need {n} x {n} distances among them, not {among.shape}")
    others = np.where(np.isfinite(among), among, -np.inf)
    near = np.full(distances.shape, np.inf)
    for place, own in enumerate(distances):
        there = np.flatnonzero(np.isfinite(own))
        if len(there):
            mine = own[there]
            # Farther from the query than this document is, and farther from this document than the query is.
            farther = (mine[None, :] > mine[:, None]) & (others[np.ix_(there, there)] > mine[:, None])
            shares = farther.sum(axis=1) / len(there)
            near[place, there] = 1 - shares + mine / (mine.max() or 1.0) / (2 * len(there))
    return near


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Mean and standard deviation (n,) of the distances of n documents or queries from others."""

    mean: _Floats
    deviation: _Floats

    @classmethod
    def of(cls, distances: _Floats) -> "Spread":
        """Take them of distances (n, s) from a sample; infinite ones are left out."""
        there = np.isfinite(distances)
        counts = np.maximum(there.sum(axis=1), 1)
        known = np.where(there, distances, 0.0)
        mean = known.sum(axis=1) / counts
        squares = np.where(there, np.square(known - mean[:, None]), 0.0).sum(axis=1)
        return cls(mean, np.sqrt(squares / np.maximum(counts - 1, 1)))


def fitted(distances: _Floats, queries: Spread, documents: Spread, kind: Kind = "gamma") -> _Floats:
    """Return 1 - MP (m, n) with both sides' distances taken for independent, of a normal or a gamma distribution.

    MP = (1 - F_query(d)) (1 - F_document(d)), so 1 - MP = F + F' - F F': nothing cancels where both are tiny
    (Schnitzer et al. 2012, section 3.2). The gamma distribution has the shape mean^2 / variance.
    """
    m, n = distances.shape
    if len(queries.mean) != m or len(documents.mean) != n:
        raise EvaluationError(f"distances {m} x {n} need a spread of each side, not {len(queries.mean)} and others")
    near = np.full(distances.shape, np.inf)
    for place, own in enumerate(distances):
        there = np.flatnonzero(np.isfinite(own))
        one = _below(own[there], queries.mean[place], queries.deviation[place], kind)
        other = _below(own[there], documents.mean[there], documents.deviation[there], kind)
        near[place, there] = one + other - one * other
    return near


def _below(distances: _Floats, mean: _Floats, deviation: _Floats, kind: Kind) -> _Floats:
    """Return the share of distances that is expected below each of `distances` (n,)."""
    from scipy.special import gammainc, ndtr

    # Where all distances are the same, the distribution is a step.
    spread = np.maximum(deviation, 1e-12 * np.maximum(mean, 1e-300))
    if kind == "gaussian":
        return np.asarray(ndtr((distances - mean) / spread))
    if kind != "gamma":
        raise EvaluationError(f"distances may be fitted by gaussian or gamma, not {kind!r}")
    # A shape beyond 10^8 is a step already, and more than scipy's series can sum.
    shape = np.minimum(np.square(mean / spread), 1e8)
    return np.asarray(gammainc(shape, shape * distances / np.maximum(mean, 1e-300)))
