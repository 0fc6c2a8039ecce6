"""Mutual proximity: a distance counts as small only if it is small for both sides (Schnitzer et al. 2012).

It reduces hubness: hubs are documents that are near almost all others. Documents are ranked by 1 - MP, from 0 (near) to
1, which never decreases with the distance: a lower bound of the distance bounds 1 - MP, too. A tiny share of the
distance is added to order documents of equal MP.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError

ProximityKind = Literal["empirical", "gaussian", "gamma"]
KINDS: tuple[ProximityKind, ...] = ("empirical", "gaussian", "gamma")

MARGIN = 1e-10
"""A bound of the rounding errors of 1 - MP: distribution functions are not strictly monotonic in floating point."""

_EQUAL = 1e-9  # distances that differ relatively by less are equal: rounding must not change a count
_FITTED_TIE = 1e-9  # the largest share of the distance that is added to a fitted 1 - MP
_Floats = NDArray[np.float64]


class MutualProximity(Protocol):
    """1 - MP of n documents and one query, as a function of their distances."""

    def costs(self, rows: NDArray[np.int64], distances: _Floats) -> _Floats:
        """Return 1 - MP (m,) of the documents `rows` (m,) if these are their `distances` (m,) from the query."""
        ...


def mutual_proximity(kind: ProximityKind, query: _Floats, documents: _Floats) -> MutualProximity:
    """Return the mutual proximity of a query and n documents from their distances to a sample of s documents.

    `query` (s,) are the distances of the query, `documents` (n, s) the distances of the documents; nan: not counted.
    Raises EvaluationError if the sizes do not match, and for an unknown `kind`.
    """
    if documents.ndim != 2 or query.shape != documents.shape[1:]:
        raise EvaluationError(f"distances {documents.shape} and {query.shape} are not to the same sample")
    if kind == "empirical":
        return CountedProximity.of(query, documents)
    return FittedProximity(kind, DistanceMoments.of(query[None, :]), DistanceMoments.of(documents))


@dataclass(frozen=True, slots=True, eq=False)
class CountedProximity:
    """MP by counting (Schnitzer et al. 2012, eq. 4): the share of others that are farther from both sides.

    `minima` (n, s): the smaller of the distances of each document and of the query from each other document, nan if
    either is not counted. `counted` is the number of documents that count for the query, `unit` any distance, such as
    the query's mean one.
    """

    minima: _Floats
    counted: int
    unit: float

    @classmethod
    def of(cls, query: _Floats, documents: _Floats) -> "CountedProximity":
        """See `mutual_proximity`."""
        mean = float(DistanceMoments.of(query[None, :]).mean[0])
        return cls(np.minimum(query, documents), int((~np.isnan(query)).sum()), mean)

    def costs(self, rows: NDArray[np.int64], distances: _Floats) -> _Floats:
        """See `MutualProximity.costs`."""
        farther = (self.minima[rows] > distances[:, None] * (1 + _EQUAL)).sum(axis=1)
        counted = max(self.counted, 1)
        return np.asarray(1 - farther / counted + _share(distances, self.unit) / (2 * counted))


@dataclass(frozen=True, slots=True, eq=False)
class DistanceMoments:
    """Mean and standard deviation (n,) of the distances of n documents or queries from others."""

    mean: _Floats
    deviation: _Floats

    @classmethod
    def of(cls, distances: _Floats) -> "DistanceMoments":
        """Estimate the spread from `distances` (n, s) to a sample; infinite ones and nan are not counted."""
        finite = np.isfinite(distances)
        counts = np.maximum(finite.sum(axis=1), 1)
        known = np.where(finite, distances, 0.0)
        mean = known.sum(axis=1) / counts
        squares = np.where(finite, np.square(known - mean[:, None]), 0.0).sum(axis=1)
        return cls(mean, np.sqrt(squares / np.maximum(counts - 1, 1)))


@dataclass(frozen=True, slots=True, eq=False)
class FittedProximity:
    """MP = (1 - F_query(d)) (1 - F_document(d)) for independent distances with a normal or a gamma distribution.

    `query` (1,) and `documents` (n,) are the spread of each side; the gamma distribution has the shape mean^2 /
    variance. The logarithms of both factors are added, which does not cancel where 1 - MP is tiny (Schnitzer et al.
    2012, section 3.2). Raises EvaluationError for an unknown `kind`.
    """

    kind: ProximityKind
    query: DistanceMoments
    documents: DistanceMoments

    def __post_init__(self) -> None:
        if self.kind not in ("gaussian", "gamma"):
            raise EvaluationError(f"distances may be fitted by gaussian or gamma, not {self.kind!r}")

    def costs(self, rows: NDArray[np.int64], distances: _Floats) -> _Floats:
        """See `MutualProximity.costs`."""
        log_mp = _log_share_above(distances, self.query.mean, self.query.deviation, self.kind)
        log_mp += _log_share_above(distances, self.documents.mean[rows], self.documents.deviation[rows], self.kind)
        return -np.expm1(log_mp) + _FITTED_TIE * _share(distances, float(self.query.mean[0]))


def empirical_proximity(distances: _Floats, among: _Floats) -> _Floats:
    """Return 1 - MP (m, n) of queries and documents by counting; see `CountedProximity`.

    `distances` (m, n) are the distances of the queries from the documents, `among` (n, n) the distances between the
    documents; infinite ones are not counted and stay infinite. Raises EvaluationError if the shapes do not match.
    """
    n = distances.shape[1]
    if among.shape != (n, n):
        raise EvaluationError(f"{n} documents need {n} x {n} distances among them, not {among.shape}")
    others, own = (np.where(np.isfinite(side), side, np.nan) for side in (among, distances))
    proximities = [CountedProximity.of(row, others) for row in own]
    return _finite_costs(proximities, distances)


def fitted_proximity(
    distances: _Floats, queries: DistanceMoments, documents: DistanceMoments, kind: ProximityKind = "gamma"
) -> _Floats:
    """Return 1 - MP (m, n) by distributions fitted to both sides; see `FittedProximity`.

    `distances` (m, n) are the distances of the queries from the documents; infinite ones stay infinite. `queries` (m,)
    and `documents` (n,) are the spread of each side. Raises EvaluationError if the sizes do not match, and for an
    unknown `kind`.
    """
    m, n = distances.shape
    if len(queries.mean) != m or len(documents.mean) != n:
        raise EvaluationError(
            f"distances {m} x {n} need a spread of {m} queries and {n} documents, "
            f"not of {len(queries.mean)} and {len(documents.mean)}"
        )
    spreads = [DistanceMoments(queries.mean[[row]], queries.deviation[[row]]) for row in range(m)]
    return _finite_costs([FittedProximity(kind, spread, documents) for spread in spreads], distances)


def _finite_costs(proximities: Sequence[MutualProximity], distances: _Floats) -> _Floats:
    """Return 1 - MP (m, n) of m queries where `distances` (m, n) are finite, else infinity."""
    costs = np.full(distances.shape, np.inf)
    for query, proximity in enumerate(proximities):
        finite = np.flatnonzero(np.isfinite(distances[query]))
        costs[query, finite] = proximity.costs(finite, distances[query, finite])
    return costs


def _share(distances: _Floats, unit: float) -> _Floats:
    """Return a share (m,) from 0 to 1 that grows with the distance."""
    return distances / (distances + (unit or 1.0))


def _log_share_above(distances: _Floats, mean: _Floats, deviation: _Floats, kind: ProximityKind) -> _Floats:
    """Return the logarithm (m,) of the share of distances above each of `distances` (m,)."""
    from scipy.special import gammaincc, log_ndtr

    # Where all distances are equal, the distribution is a step.
    spread = np.maximum(deviation, 1e-12 * np.maximum(mean, 1e-300))
    if kind == "gaussian":
        return np.asarray(log_ndtr((mean - distances) / spread))
    # A shape above 10^8 is practically a step, and scipy's series does not converge for it.
    shape = np.minimum(np.square(mean / spread), 1e8)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(gammaincc(shape, shape * distances / np.maximum(mean, 1e-300))))
