"""Mutual proximity: a distance counts as small only if it is small for both sides (Schnitzer et al. 2012).

It reduces hubness: hubs are documents that are near almost all others. The functions return 1 - MP, from 0 (near) to 1;
infinite distances stay infinite, because such pairs are not neighbours.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError

Kind = Literal["gaussian", "gamma"]
_Floats = NDArray[np.float64]


def empirical_proximity(distances: _Floats, among: _Floats) -> _Floats:
    """Return 1 - MP (m, n) of queries and documents by counting (Schnitzer et al. 2012, eq. 4).

    `distances` (m, n) are those of the queries from the documents, `among` (n, n) those between the documents. MP is
    the share of other documents that are farther from both than the two are from each other. A query that is itself a
    document has an infinite distance from itself, and so has each document: neither is counted. Equal shares are
    ordered by distance. Raises EvaluationError if the shapes do not match.
    """
    n = distances.shape[1]
    if among.shape != (n, n):
        raise EvaluationError(f"{n} documents need {n} x {n} distances among them, not {among.shape}")
    others = np.where(np.isfinite(among), among, -np.inf)
    proximity = np.full(distances.shape, np.inf)
    for row, own in enumerate(distances):
        finite = np.flatnonzero(np.isfinite(own))
        if len(finite):
            mine = own[finite]
            # Farther from the query than this document is, and farther from this document than the query is.
            farther = (mine[None, :] > mine[:, None]) & (others[np.ix_(finite, finite)] > mine[:, None])
            shares = farther.sum(axis=1) / len(finite)
            proximity[row, finite] = 1 - shares + mine / (mine.max() or 1.0) / (2 * len(finite))
    return proximity


@dataclass(frozen=True, slots=True, eq=False)
class DistanceMoments:
    """Mean and standard deviation (n,) of the distances of n documents or queries from others."""

    mean: _Floats
    deviation: _Floats

    @classmethod
    def of(cls, distances: _Floats) -> "DistanceMoments":
        """Estimate the spread from `distances` (n, s) to a sample; infinite ones are ignored."""
        finite = np.isfinite(distances)
        counts = np.maximum(finite.sum(axis=1), 1)
        known = np.where(finite, distances, 0.0)
        mean = known.sum(axis=1) / counts
        squares = np.where(finite, np.square(known - mean[:, None]), 0.0).sum(axis=1)
        return cls(mean, np.sqrt(squares / np.maximum(counts - 1, 1)))


def fitted_proximity(
    distances: _Floats, queries: DistanceMoments, documents: DistanceMoments, kind: Kind = "gamma"
) -> _Floats:
    """Return 1 - MP (m, n), assuming independent distances of both sides with a normal or a gamma distribution.

    `distances` (m, n) are those of the queries from the documents, `queries` (m,) and `documents` (n,) the spread of
    each side, `kind` the distribution. MP = (1 - F_query(d)) (1 - F_document(d)); 1 - MP is computed as F + F' - F F',
    which does not cancel where both are tiny (Schnitzer et al. 2012, section 3.2). The gamma distribution has the shape
    mean^2 / variance. Raises EvaluationError if the sizes do not match, and for an unknown `kind`.
    """
    m, n = distances.shape
    if len(queries.mean) != m or len(documents.mean) != n:
        raise EvaluationError(
            f"distances {m} x {n} need a spread of {m} queries and {n} documents, "
            f"not of {len(queries.mean)} and {len(documents.mean)}"
        )
    proximity = np.full(distances.shape, np.inf)
    for row, own in enumerate(distances):
        finite = np.flatnonzero(np.isfinite(own))
        of_query = _share_below(own[finite], queries.mean[row], queries.deviation[row], kind)
        of_documents = _share_below(own[finite], documents.mean[finite], documents.deviation[finite], kind)
        proximity[row, finite] = of_query + of_documents - of_query * of_documents
    return proximity


def _share_below(distances: _Floats, mean: _Floats, deviation: _Floats, kind: Kind) -> _Floats:
    """Return the cumulative distribution function (n,) at each of `distances` (n,)."""
    from scipy.special import gammainc, ndtr

    # Where all distances are equal, the distribution is a step.
    spread = np.maximum(deviation, 1e-12 * np.maximum(mean, 1e-300))
    if kind == "gaussian":
        return np.asarray(ndtr((distances - mean) / spread))
    if kind != "gamma":
        raise EvaluationError(f"distances may be fitted by gaussian or gamma, not {kind!r}")
    # A shape above 10^8 is practically a step, and scipy's series does not converge for it.
    shape = np.minimum(np.square(mean / spread), 1e8)
    return np.asarray(gammainc(shape, shape * distances / np.maximum(mean, 1e-300)))
