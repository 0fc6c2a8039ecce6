"""Vectors that the user brings for documents and queries, and the metrics by which they are compared."""

import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moverank.indexer.errors import QueryVectorError, UsageError
from moverank.indexer.values.documents import GIVEN
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Choice, check_options
from moverank.rerank.words.embedding import unit_rows

VectorMetric = Literal["cosine", "l2", "ip"]

METRIC = Choice("metric", "cosine", get_args(VectorMetric))
"""The option of the first stage; most text encoders are trained for the cosine, which ignores the length of vectors."""

LARGEST = 1e15
"""The largest number in a vector: squares of larger ones leave the range of float32."""


def check_metric(options: Mapping[str, str]) -> None:
    """Raise EncoderError for an option that the first stage `given` does not have, or an invalid value."""
    check_options(GIVEN, (METRIC,), options, EncoderError)


def metric_of(options: Mapping[str, str]) -> VectorMetric:
    """Return the metric that valid options name."""
    chosen = METRIC.read(options)
    return next(metric for metric in get_args(VectorMetric) if metric == chosen)


def numbers_fault(vector: NDArray[np.float32]) -> str | None:
    """Return the fault of the numbers of a vector (d,), None if the vector can be used."""
    if not len(vector):
        return "is empty: it needs at least one number"
    unusable = np.flatnonzero(~(np.abs(vector) <= LARGEST))  # a comparison with NaN is false
    if len(unusable):
        return (
            f"has {vector[unusable[0]]} at position {unusable[0] + 1}: its numbers must be finite, at most {LARGEST:g}"
        )
    return None


def as_vector(vector: ArrayLike, name: str, error: type[UsageError] = UsageError) -> NDArray[np.float32]:
    """Return a vector (d,), in which a number may be infinite; `error` for anything else, `name` names it there."""
    try:
        with np.errstate(over="ignore"):
            found = np.asarray(vector, np.float32)
    except (TypeError, ValueError) as reason:
        raise error(f"{name} must be a list of numbers: {reason}") from reason
    if found.ndim != 1:
        raise error(f"{name} must be a list of numbers, not an array of shape {found.shape}")
    return found


def vector_bytes(vector: Iterable[float]) -> bytes:
    """Return the stored form of a vector."""
    numbers = array("f", vector)  # NumPy takes three times as long for a tuple
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def unpacked(vectors: Sequence[bytes], dim: int) -> NDArray[np.float32]:
    """Return stored vectors as a matrix (n, dim)."""
    return np.frombuffer(b"".join(vectors), "<f4").reshape(-1, max(1, dim)).astype(np.float32, copy=False)


class Space(NamedTuple):
    """The metric of given vectors, and their number of dimensions: 0 while no document has a vector."""

    metric: VectorMetric
    dim: int

    @property
    def products(self) -> bool:
        """Return whether the largest inner products are the nearest, not the smallest Euclidean distances."""
        return self.metric == "ip"

    def comparable(self, vectors: NDArray[np.float32]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Return which of the vectors (n, dim) can be compared (n,), and the vectors (m, dim) in the compared form.

        The cosine compares vectors of unit length; zeros have no direction.
        """
        if self.metric != "cosine":
            return np.ones(len(vectors), bool), vectors
        usable: NDArray[np.bool_] = np.any(vectors != 0, axis=1)
        return usable, unit_rows(vectors[usable].astype(np.float64)).astype(np.float32)

    def of_query(self, vector: ArrayLike) -> NDArray[np.float32]:
        """Return the vector (dim,) of a query in the compared form; QueryVectorError names its fault."""
        found = as_vector(vector, "the query's vector", QueryVectorError)
        fault = numbers_fault(found)
        if fault:
            raise QueryVectorError(f"the query's vector {fault}")
        if self.dim and len(found) != self.dim:
            raise QueryVectorError(
                f"the query's vector has {len(found):,} numbers, those of the documents have {self.dim:,}"
            )
        usable, compared = self.comparable(found[None])
        if not usable[0]:
            raise QueryVectorError("the query's vector is zero: it has no direction, which the cosine compares")
        own: NDArray[np.float32] = compared[0]
        return own

    def costs(
        self, vectors: NDArray[np.float32], rows: NDArray[np.int64], query: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Return the costs (m,) of the `rows` (m,) of vectors (n, dim) for a query (dim,): nearer vectors cost less.

        A cost is the squared Euclidean distance, or the negated inner product, in float64.
        """
        own, costs = query.astype(np.float64), np.empty(len(rows))
        size = max(1, _BLOCK // max(1, 8 * self.dim))
        for start in range(0, len(rows), size):
            block = vectors[rows[start : start + size]].astype(np.float64)
            costs[start : start + size] = -(block @ own) if self.products else np.square(block - own).sum(axis=1)
        return costs

    def distances(self, costs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distances (n,) of `costs` (n,): Euclidean, 1 minus the cosine, or the costs of products."""
        if self.metric == "cosine":
            return costs / 2  # the squared distance of unit vectors is 2 - 2 cos
        return np.sqrt(costs) if self.metric == "l2" else costs


_BLOCK = 8 * 2**20  # bytes of float64 vectors compared at once
