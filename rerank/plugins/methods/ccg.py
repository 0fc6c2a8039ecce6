"""Componential counting grid, fitted by expectation maximisation (Perina et al. 2013).

A grid of E x E cells, joined at its edges into a torus, has a distribution of words pi_i in each cell i. Location l
is the window of W x W cells that begins at cell l; its distribution of words is the mean over the window's cells:
h_l(z) = mean of pi_i(z). A document has a distribution theta over the locations, and each of its words comes from one
of them: p(z | document) = sum_l theta_l h_l(z). Neighbouring locations share cells, so themes change gradually.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.encoders.encoder import SEED, Documents, EncoderState, Metric, part, training_sample
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Integer, Option, check_options
from moverank.rerank.plugins.methods.lda import count_matrix
from moverank.rerank.runtime.deadline import check_time

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Reals = NDArray[np.floating[Any]]
"""Arrays of float32 in a fit, which saves memory, or of float64."""

_LEAST = 1e-30
"""Floor of probabilities and of their sums, to prevent division by zero; representable in float32."""


def window_means(cells: Reals, extent: int, window: int) -> Reals:
    """Return the means (n, E * E) of `cells` (n, E * E) over the window that begins at each cell.

    `extent` is E, the side of the grid, and `window` is W, the side of a window.
    """
    return _means(cells, extent, window, -1)


def spread(shares: Reals, extent: int, window: int) -> Reals:
    """Return the shares of cells (n, E * E) if each location divides its share of `shares` (n, E * E) over its window.

    `extent` is E and `window` is W. The map is the transpose of `window_means`.
    """
    return _means(shares, extent, window, 1)


def _means(rows: Reals, extent: int, window: int, em_step: int) -> Reals:
    grids = rows.reshape(-1, extent, extent)
    for axis in (1, 2):
        # Sums of shifted grids: differences of cumulative sums would cancel, and could be negative.
        total = grids.copy()
        for shift in range(1, window):
            total += np.roll(grids, em_step * shift, axis)
        grids = total
    means: Reals = grids / window**2
    return means.reshape(rows.shape)


def first_grid(totals: NDArray[np.float64], cells: int, seed: int) -> NDArray[np.float32]:
    """Return an initial grid (w, cells): the corpus distribution of words in each cell, with noise drawn by `seed`.

    `totals` (w,) are the counts of the words, and `cells` is E * E. Without noise, equal cells would stay equal.
    """
    noise = np.random.default_rng(seed).uniform(0.5, 1.5, (len(totals), cells))
    noise *= totals[:, None]
    noise /= noise.sum(axis=0)
    return noise.astype(np.float32)


def em_step(
    counts: "csr_array[np.float64, tuple[int, int]]", grid: Reals, theta: Reals, window: int
) -> tuple[Reals, Reals, float]:
    """Return the grid and the shares after one EM iteration, and the log-likelihood before it.

    `counts` (n, w) belong to the documents, `grid` (w, E * E) holds pi, each column summing to 1, `theta` (n, E * E)
    the shares of the locations, each row summing to 1, and `window` is W. The likelihood never decreases. A document
    without counts keeps its shares; a cell that no document uses keeps its words.
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
    """Return `new` scaled to sums of 1 along `axis`, and `old` where the sum is zero."""
    sums = new.sum(axis=axis, keepdims=True)
    normalised: Reals = np.where(sums > _LEAST, new / np.maximum(sums, _LEAST), old)
    return normalised


def infer_locations(counts: NDArray[np.float64], of_words: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Return the shares (L,) of locations in a document after `steps` EM iterations from equal shares.

    `counts` (u,) belong to the document's words, `of_words` (u, L) are the probabilities of each at each location.
    """
    theta = np.full(of_words.shape[1], 1 / of_words.shape[1])
    for _ in range(steps):
        # einsum, not BLAS: its order of summation does not depend on the number of threads.
        likelihoods = np.maximum(np.einsum("ul,l->u", of_words, theta), _LEAST)
        new = theta * np.einsum("ul,u->l", of_words, counts / likelihoods)
        total = new.sum()
        if total <= _LEAST:
            break
        theta = new / total
    return theta


EXTENT = Integer("extent", 24, 1, 100)
WINDOW = Integer("window", 2, 1, 100)
ITERATIONS = Integer("iterations", 25, 1, 10_000)
STEPS = Integer("steps", 10, 1, 10_000)
WORDS = Integer("words", 20_000, 1, 10**9)
SAMPLE = Integer("sample", 10_000, 1, 10**9)


@dataclass(frozen=True, slots=True, eq=False)
class Ccg:
    """Vectors are the square roots of a document's shares of the locations: unit vectors, for the inner product.

    This ranks documents as the Hellinger distance of the shares does, as in `Lda`. Options: `extent` E of the grid,
    whose E * E locations are the dimensions of the vector; `window` W (the grid has room for about (E / W)^2 separate
    themes); `iterations` of expectation maximisation that fit the grid; `steps` that infer a document's shares (few,
    because shares that fit a single document best are concentrated on few locations, and no other document is near);
    the largest number of `words` in the vocabulary and of documents in the training `sample`; `seed`. A document
    without known words has equal shares.
    """

    name: ClassVar[str] = "ccg"
    metric: ClassVar[Metric] = "ip"
    options: ClassVar[tuple[Option, ...]] = (EXTENT, WINDOW, ITERATIONS, STEPS, WORDS, SAMPLE, SEED)

    word_ids: NDArray[np.int64]
    """(w,), strictly increasing."""
    windows: NDArray[np.float32]
    """(w, E * E) the probability of each word at each location."""
    steps: int

    @property
    def dim(self) -> int:
        """Return the number of locations."""
        return int(self.windows.shape[1])

    @classmethod
    def fit(cls, documents: Documents, options: Mapping[str, str]) -> Self:
        """See `Encoder.fit`; also raises EncoderError for a window larger than the grid."""
        check_options(cls.name, cls.options, options, EncoderError)
        extent, window, seed = EXTENT.read(options), WINDOW.read(options), SEED.read(options)
        if window > extent:
            raise EncoderError(f"window must be at most extent, which is {extent}, not {window}")
        sample, word_ids = training_sample(documents, SAMPLE.read(options), WORDS.read(options), seed)
        counts = count_matrix(sample, word_ids)
        grid: Reals = first_grid(np.asarray(counts.sum(axis=0)), extent**2, seed)
        theta: Reals = np.full((counts.shape[0], extent**2), 1 / extent**2, np.float32)
        for _ in range(ITERATIONS.read(options)):
            check_time()
            grid, theta, _ = em_step(counts, grid, theta, window)
        return cls(word_ids, window_means(grid, extent, window).astype(np.float32), STEPS.read(options))

    def encode(self, documents: Documents) -> NDArray[np.float32]:
        """See `Encoder.encode`; the inference of each document starts from equal shares."""
        counts = count_matrix(documents, self.word_ids)
        vectors = np.empty((len(documents), self.dim), np.float32)
        for row, (start, stop) in enumerate(zip(counts.indptr[:-1], counts.indptr[1:], strict=True)):
            if row:
                check_time()
            of_words = self.windows[counts.indices[start:stop]].astype(np.float64)
            vectors[row] = np.sqrt(infer_locations(counts.data[start:stop], of_words, self.steps))
        return vectors

    def state(self) -> dict[str, NDArray[Any]]:
        """See `Encoder.state`."""
        return {"word_ids": self.word_ids, "windows": self.windows, "steps": np.array(self.steps, np.int64)}

    @classmethod
    def restore(cls, state: EncoderState) -> Self:
        """See `Encoder.restore`."""
        word_ids = part(state, "word_ids", np.int64, (None,))
        windows = part(state, "windows", np.float32, (len(word_ids), None))
        steps = int(part(state, "steps", np.int64, ()))
        if not (windows.size and np.all(np.diff(word_ids) > 0) and np.all(windows >= 0) and steps > 0):
            raise EncoderError("the state of ccg needs increasing word ids, probabilities and steps: fit it again")
        return cls(word_ids, windows, steps)
