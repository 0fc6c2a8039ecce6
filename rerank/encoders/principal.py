"""Principal components of weighted points."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.encoders.matrix_products import row_products
from moverank.rerank.encoders.truncated_svd import peak_signs

_BLOCK = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class Principal:
    """The projection x -> (x - mean) axes: `mean` (d,), `axes` (d, e) orthonormal."""

    mean: NDArray[np.float64]
    axes: NDArray[np.float64]

    @classmethod
    def of(cls, points: NDArray[np.float32], weights: NDArray[np.float64], dim: int) -> Self:
        """Return the first `dim` principal components, at most d, of `points` (n, d) with `weights` (n,) > 0.

        They are the eigenvectors of the weighted covariance, by descending eigenvalue; the entry of largest magnitude
        of each is positive. Components beyond the rank of the points are arbitrary.
        """
        shares = weights / weights.sum()
        mean, covariance = np.zeros(points.shape[1]), np.zeros((points.shape[1], points.shape[1]))
        for first in range(0, len(points), _BLOCK):
            mean += shares[first : first + _BLOCK] @ points[first : first + _BLOCK].astype(np.float64)
        for first in range(0, len(points), _BLOCK):
            centred = points[first : first + _BLOCK] - mean
            covariance += centred.T @ (centred * shares[first : first + _BLOCK, None])
        axes = np.linalg.eigh(covariance)[1][:, ::-1][:, :dim]
        return cls(mean, np.ascontiguousarray(axes * peak_signs(axes)))

    def project(self, points: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the coordinates (n, e) of points (n, d); the bits of a point do not depend on the other points."""
        coordinates = np.empty((len(points), self.axes.shape[1]))
        for first in range(0, len(points), _BLOCK):
            coordinates[first : first + _BLOCK] = row_products(points[first : first + _BLOCK] - self.mean, self.axes)
        return coordinates
