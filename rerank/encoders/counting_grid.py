"""Expectation maximisation of the componential counting grid (Perina et al. 2013).

A grid of E x E cells, joined at its edges into a torus, has a distribution of words pi_i in each cell. Location l
stands for the window of W x W cells that begins there, and its words are the mean of the window's cells: h_l(z) = mean
of pi_i(z). A document has shares theta of the locations, and each of its words comes from one of them:
p(z | document) = sum_l theta_l h_l(z). Neighbours share cells, so that themes turn into each other over the grid.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Reals = NDArray[np.floating[Any]]
"""float32 in a fit, for half the memory, or float64."""

_LEAST = 1e-30
"""A floor of probabilities and of their sums, so that nothing is divided by zero; float32 holds it."""


def window_means(cells: Reals, extent: int, window: int) -> Reals:
    """Return the means (n, E * E) of `cells` (n, E * E) over the window that begins at each cell."""
    return _means(cells, extent, window, -1)


def spread(shares: Reals, extent: int, window: int) -> Reals:
    """Return what cells (n, E * E) get where locations share evenly among the cells of their window."""
    return _means(shares, extent, window, 1)


def _means(rows: Reals, extent: int, window: int, step: int) -> Reals:
    grids = rows.reshape(-1, extent, extent)
    for axis in (1, 2):
        # Sums of shifted grids and no cumulative sums: those would cancel, and could turn out negative.
        total = grids.copy()
        for shift in range(1, window):
            total += np.roll(grids, step * shift, axis)
        grids = total
    means: Reals = grids / window**2
    return means.reshape(rows.shape)


def first_grid(totals: NDArray[np.float64], cells: int, seed: int) -> NDArray[np.float32]:
    """Return a grid (w, cells) to begin with: in each cell the words' shares in all documents, disturbed at random.

    `totals` (w,) are the words' counts. All cells equal would stay so for ever.
    """
    noise = np.random.default_rng(seed).uniform(0.5, 1.5, (len(totals), cells))
    noise *= totals[:, None]
    noise /= noise.sum(axis=0)
    return noise.astype(np.float32)


def step(
    counts: "csr_array[np.float64, tuple[int, int]]", grid: Reals, theta: Reals, window: int
) -> tuple[Reals, Reals, float]:
    """Do one step of expectation maximisation; return the new grid, the new shares, and the old log likelihood.

    `counts` (n, w), `grid` (w, E * E) holds pi, each column summing to 1, and `theta` (n, E * E) the shares of the
    locations, each row summing to 1. The likelihood of the documents never falls from step to step. A document without
    counts keeps its shares, a cell that no document uses its words.
    """
    from scipy.sparse import csr_array

    extent = round(theta.shape[1] ** 0.5)
    of_cells = spread(theta, extent, window)
    likelihoods = np.empty(len(counts.data), grid.dtype)
    for row, (start, stop) in enumerate(zip(counts.indptr[:-1], counts.indptr[1:], strict=True)):
        likelihoods[start:stop] = grid[counts.indices[start:stop]] @ of_cells[row]
    np.maximum(likelihoods, _LEAST, out=likelihoods)
    total = float(counts.data @ np.log(likelihoods, dtype=np.float64))
    ratios = csr_array((counts.data.astype(grid.dtype) / likelihoods, counts.indices, counts.indptr), counts.shape)
    # Posterior shares, summed over a document's words for theta and over documents for the grid.
    new_theta = theta * window_means(np.asarray(ratios @ grid), extent, window)
    new_grid = grid * np.asarray(ratios.T.tocsr() @ of_cells)
    return _normalised(new_grid, grid, 0), _normalised(new_theta, theta, 1), total


def _normalised(new: Reals, old: Reals, axis: int) -> Reals:
    sums = new.sum(axis=axis, keepdims=True)
    found: Reals = np.where(sums > _LEAST, new / np.maximum(sums, _LEAST), old)
    return found


def infer(counts: NDArray[np.float64], of_words: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Return the shares (L,) of locations in a document, from equal ones, by `steps` of expectation maximisation.

    `counts` (u,) of its words, `of_words` (u, L) the probability of each in each location.
    """
    theta = np.full(of_words.shape[1], 1 / of_words.shape[1])
    for _ in range(steps):
        # einsum, not BLAS: the sums are taken in one order, whatever the number of threads.
        likelihoods = np.maximum(np.einsum("ul,l->u", of_words, theta), _LEAST)
        new = theta * np.einsum("ul,u->l", of_words, counts / likelihoods)
        total = new.sum()
        if total <= _LEAST:
            break
        theta = new / total
    return theta
