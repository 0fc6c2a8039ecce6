"""The ground cost: Euclidean distance of word vectors, exact for a pair, bounded from below for a vocabulary."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.rerank import kernels
from moverank.rerank.runtime.thread_pool import parallel_for, single_threaded, single_threaded_blas
from moverank.rerank.words.embedding import Embedding

UNIT_ROUNDOFF = float(np.finfo(np.float32).eps) / 2
_BLOCK_BYTES = 64 * 2**20
_PORTION = 1 << 30  # multiplications between two checks of the time: some hundredths of a second
_SAMPLE = 2000
"""Number of rows of an embedding that stand for all of its words."""
_EMBEDDINGS = 8
_MEANS: dict[str, tuple[float, NDArray[np.float64]]] = {}
"""The results of `_means` for a few embeddings, by fingerprint."""


def exact_cost(sources: NDArray[np.float32], targets: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the Euclidean distances (n, m) float64 of word vectors (n, d) and (m, d).

    Computed from differences, not from products, so that equal vectors have a distance of exactly 0.
    """
    cost = np.empty((len(sources), len(targets)))
    most = portion(targets)
    parallel_for(
        lambda first, last: kernels.exact_distances(first, last, sources, targets, cost),
        len(sources),
        small=256,
        most=most,
    )
    return cost


def exact_minima(
    sources: NDArray[np.float32], targets: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the minima of `exact_cost` over the targets (n,) and over the sources (m,).

    Only pairs that the cost floor does not exclude are computed exactly. Large floors are computed in portions.
    """
    size = max(1, _BLOCK_BYTES // (4 * max(1, len(targets))))
    least = np.full(len(sources), np.inf), np.full(len(targets), np.inf)
    for start in range(0, len(sources), size):
        _lower_to_minima(sources[start : start + size], targets, least[0][start : start + size], least[1])
    return least


def _lower_to_minima(
    sources: NDArray[np.float32],
    targets: NDArray[np.float32],
    by_source: NDArray[np.float64],
    by_target: NDArray[np.float64],
) -> None:
    """Lower `by_source` (n,) and `by_target` (m,) to the minima of the exact costs of these sources and targets."""
    floor, slack = bounded_cost(sources, targets)
    above_source, above_target = (_ceiling(floor.min(axis=axis), slack) for axis in (1, 0))
    rows, columns = np.nonzero((floor <= above_source[:, None]) | (floor <= above_target))
    exact = kernels.exact_arcs(sources, targets, rows, columns)
    np.minimum.at(by_source, rows, exact)
    np.minimum.at(by_target, columns, exact)


def _ceiling(floor: NDArray[np.float32], slack: float) -> NDArray[np.float32]:
    """Return a float32 number above every exact cost with this floor."""
    ceiling = np.sqrt(np.square(floor, dtype=np.float64) + slack).astype(np.float32)
    raised: NDArray[np.float32] = np.nextafter(ceiling, np.float32(np.inf))
    return raised


def squared_error(
    norms: NDArray[np.float32], others: NDArray[np.float32] | np.float32, dim: int
) -> NDArray[np.float32]:
    """Bound the float32 error of |x|^2 + |y|^2 - 2 x.y for x and y of `dim` numbers.

    `norms` are the lengths |x|, `others` the lengths |y|; the two are broadcast.

    A sum of d products in any order is off by at most d u |x| |y| to first order (Higham 2002, section 3.1), u the unit
    roundoff; the squared norms likewise, and four more roundings join the terms: (d + 4) u (|x| + |y|)^2. Using 8 in
    place of 4 covers the second-order terms up to d = 10^5.
    """
    bound: NDArray[np.float32] = np.float32((dim + 8) * UNIT_ROUNDOFF) * np.square(norms + others)
    return bound


def bounded_cost(sources: NDArray[np.float32], targets: NDArray[np.float32]) -> tuple[NDArray[np.float32], float]:
    """Return the cost floor (n, m) of word vectors (n, d) and (m, d), and the slack of its squares.

    It is a single matrix product on any number of cores, so that equal vectors get exactly equal floors.
    """
    norms, others = vector_norms(sources), vector_norms(targets)
    with single_threaded():
        floor = cost_floor(sources, targets, norms, others)
    return floor, squared_slack(cost_ceiling(norms, others), sources.shape[1])


def cost_floor(
    vectors: NDArray[np.float32],
    query_vectors: NDArray[np.float32],
    norms: NDArray[np.float32] | None = None,
    query_norms: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """Return the cost floor (v, h) float32: distances of `vectors` (v, d) and `query_vectors` (h, d), never too large.

    The error bound of the matrix product is subtracted from the squares; a factor below 1 covers the rounding of the
    roots. So every lower bound that is computed from the result bounds the exact distance, for vector components up to
    `embedding.LONGEST`. `norms` (v,) and `query_norms` (h,) are the lengths of the vectors, if already computed.
    """
    floor = np.empty((len(vectors), len(query_vectors)), np.float32)
    lengths = vector_norms(vectors) if norms is None else norms
    query_lengths = vector_norms(query_vectors) if query_norms is None else query_norms
    margins = product_margins(vectors.shape[1])
    sources, targets = np.ascontiguousarray(vectors), np.ascontiguousarray(query_vectors)

    def work(first: int, last: int) -> None:
        _fill_products(sources[first:last], targets, floor[first:last])
        kernels.distances_from_products(first, last, floor, lengths, query_lengths, *margins)

    with single_threaded_blas():
        parallel_for(work, len(vectors), most=portion(query_vectors))
    return floor


def portion(query_vectors: NDArray[np.float32]) -> int:
    """Return how many words' costs to `query_vectors` (h, d) are computed between two checks of the time."""
    return max(1, _PORTION // max(1, query_vectors.size))


def _fill_products(sources: NDArray[np.float32], targets: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """Fill `out` (n, m) with the inner products of `sources` (n, d) and `targets` (m, d).

    For many of both, numpy's BLAS is called: scipy's, which the kernel would call, takes longer to import.
    """
    if len(targets) <= kernels.FEW:
        kernels.row_products(sources, targets, out)
    elif len(sources) <= kernels.FEW:
        turned = np.empty((len(targets), len(sources)), np.float32)
        kernels.row_products(targets, sources, turned)
        out[:] = turned.T
    else:
        np.matmul(sources, targets.T, out=out)


def product_margins(dim: int) -> tuple[np.float32, np.float32]:
    """Return the relative margin of the squares, and the factor of the roots, for vectors of `dim` numbers.

    See `cost_floor`, which computes distances from products.
    """
    return np.float32((dim + 8) * UNIT_ROUNDOFF), np.float32(1 - 4 * UNIT_ROUNDOFF)


def vector_norms(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the Euclidean lengths (n,) of vectors (n, d), summed in float32, block by block."""
    norms = np.empty(len(vectors), np.float32)
    block = max(1, _BLOCK_BYTES // max(1, 4 * vectors.shape[1]))
    for start in range(0, len(vectors), block):
        part = vectors[start : start + block]
        norms[start : start + block] = np.sqrt(np.einsum("ij,ij->i", part, part))  # unlike `norm` without a copy
    return norms


def squared_slack(largest: float, dim: int) -> float:
    """Return by how much the square of an exact distance, at most `largest`, can exceed the square of its floor.

    `dim` is the length of a vector. The slack is twice the error of the product, which is subtracted and may itself be
    negative, the roundings of the root, at most 10 u of the largest square, and the loss by underflow.
    """
    return (2 * (dim + 8) + 16) * UNIT_ROUNDOFF * largest**2 + 2e-30


def cost_ceiling(norms: NDArray[np.float32], query_norms: NDArray[np.float32]) -> float:
    """Return an upper bound of all distances of vectors of these lengths: the sum of both maxima, slightly raised."""
    return 1.0005 * (float(norms.max(initial=0)) + float(query_norms.max(initial=0)))


class NearWord(NamedTuple):
    """The nearest of some words: their `cost`, and its `share` of that word's typical cost (0: the same vector)."""

    word: str
    cost: float
    share: float


def nearest_words(embedding: Embedding, sources: Sequence[str], targets: Sequence[str]) -> dict[str, NearWord]:
    """Return, for each of the `targets`, the nearest of the `sources`; words without a vector are left out.

    The typical cost of a source is the root of its mean squared distance to words of the embedding: near words have a
    small share of it, whatever the lengths of the vectors are.
    """
    names, vectors = embedding.known(sources)
    others, points = embedding.known(targets)
    if not names or not others:
        return {}
    square, mean = _means(embedding)
    squares = np.square(vectors, dtype=np.float64).sum(axis=1)
    typical = np.sqrt(np.maximum(0, squares + square - 2 * vectors @ mean))
    found, size = dict[str, NearWord](), max(1, _BLOCK_BYTES // (8 * len(names)))
    for start in range(0, len(others), size):
        cost = exact_cost(points[start : start + size], vectors)
        share = cost / np.maximum(typical, np.finfo(float).tiny)
        nearest = share.argmin(axis=1)
        for i, (other, j) in enumerate(zip(others[start : start + size], nearest.tolist(), strict=True)):
            found[other] = NearWord(names[j], float(cost[i, j]), float(share[i, j]))
    return found


def typical_cost(embedding: Embedding) -> float:
    """Return the root of the mean squared distance of two words of an embedding, from a sample of them."""
    square, mean = _means(embedding)
    return float(np.sqrt(max(0.0, 2 * (square - float(mean @ mean)))))


def _means(embedding: Embedding) -> tuple[float, NDArray[np.float64]]:
    """Return the mean square and the mean (d,) of vectors of words that are spread over an embedding."""
    means = _MEANS.get(embedding.fingerprint)
    if means is None:
        rows = np.unique(np.linspace(0, len(embedding.words) - 1, _SAMPLE).astype(np.int64))
        sample = embedding.gather([embedding.words[row] for row in rows.tolist()], rows).astype(np.float64)
        means = float(np.square(sample).sum(axis=1).mean()), sample.mean(axis=0)
        if len(_MEANS) >= _EMBEDDINGS:
            _MEANS.clear()
        _MEANS[embedding.fingerprint] = means
    return means
