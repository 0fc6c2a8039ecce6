"""Principal components of weighted points."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.encoders.matrix_products import row_products

_BLOCK = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class Principal:
    """A projection to e dimensions: `mean` (d,) is taken off, and `axes` (d, e), orthonormal, are what is left."""

    mean: NDArray[np.float64]
    axes: NDArray[np.float64]

    @classmethod
    def of(cls, points: NDArray[np.float32], weights: NDArray[np.float64], dim: int) -> Self:
        """Find the `dim` directions, d at the most, in which points (n, d) of weights (n,) > 0 vary most.

        They are the eigenvectors of the weighted covariance, by falling eigenvalue, with signs such that each one's
        largest entry is positive. Where points do not span so many, the rest are any others.
        """
        shares = weights / weights.sum()
        mean, second = np.zeros(points.shape[1]), np.zeros((points.shape[1], points.shape[1]))
        for first in range(0, len(points), _BLOCK):
            mean += shares[first : first + _BLOCK] @ points[first : first + _BLOCK].astype(np.float64)
        for first in range(0, len(points), _BLOCK):
            centred = points[first : first + _BLOCK] - mean
            second += centred.T @ (centred * shares[first : first + _BLOCK, None])
        axes = np.linalg.eigh(second)[1][:, ::-1][:, :dim]
        peaks = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
        return cls(mean, np.ascontiguousarray(axes * np.where(peaks < 0, -1.0, 1.0)))

    def project(self, points: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the coordinates (n, e) of points (n, d), each for itself."""
        found = np.empty((len(points), self.axes.shape[1]))
        for first in range(0, len(points), _BLOCK):
            found[first : first + _BLOCK] = row_products(points[first : first + _BLOCK] - self.mean, self.axes)
        return found
