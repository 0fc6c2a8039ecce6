"""Ranks by one vector per document: that of any encoder of `rerank.encoders`, or the centroid (WCD)."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.evaluation.rankers import ExhaustiveRanker, all_rows
from moverank.indexer.progress import Progress
from moverank.indexer.reranking.counted_texts import Texts
from moverank.rerank.encoders.encoder import Documents, Encoder
from moverank.rerank.encoders.encoder_registry import choose
from moverank.rerank.runtime.threads import single_threaded_blas

_BLOCK = 64  # maximum number of queries compared at once
_BYTES = 64 * 2**20  # maximum size of their distances


class EncoderRanker(ExhaustiveRanker):
    """Ranks a `pool` by the encoder `name` with `options`, fitted to the pool.

    Bags are weighted by `gamma` and, unless it is None, by `idf` (t,). The distance is the Euclidean distance or the
    negated inner product of the vectors, whichever is the encoder's metric.
    """

    def __init__(
        self, name: str, options: Mapping[str, str], pool: Texts, gamma: float, idf: NDArray[np.float64] | None
    ) -> None:
        self._gamma, self._idf, self._n = gamma, idf, len(pool)
        self._rows, documents = _documents(pool, gamma, idf)
        self._encoder: Encoder = choose(name, options).fit(documents, options)
        self._vectors = self._encoder.encode(documents).astype(np.float64)
        self._squares = np.square(self._vectors).sum(axis=1)

    def distances(self, queries: Texts, progress: Progress) -> Iterator[NDArray[np.float64]]:
        """See `Ranker.distances`."""
        rows, documents = _documents(queries, self._gamma, self._idf)
        encoded = self._encoder.encode(documents).astype(np.float64) if len(rows) else np.empty((0, 0))
        compared = _in_blocks(encoded, self._n, self._compare)
        for row, distances in enumerate(all_rows(compared, rows, self._rows, len(queries), self._n)):
            progress("Comparing vectors", row + 1, len(queries), "queries")
            yield distances

    def _compare(self, encoded: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distances (b, m) of encoded queries (b, dim)."""
        products: NDArray[np.float64] = encoded @ self._vectors.T
        if self._encoder.metric == "ip":
            return -products
        squares = self._squares + np.square(encoded).sum(axis=1)[:, None] - 2 * products
        distances: NDArray[np.float64] = np.sqrt(np.maximum(squares, 0))
        return distances


class CentroidRanker(ExhaustiveRanker):
    """Ranks a `pool` by WCD, the Euclidean distance of mean word vectors, in float64.

    Bags are weighted by `gamma` and, unless it is None, by `idf` (t,).
    """

    def __init__(self, pool: Texts, gamma: float, idf: NDArray[np.float64] | None) -> None:
        self._gamma, self._idf, self._n = gamma, idf, len(pool)
        self._rows, self._means = _means(pool, gamma, idf)

    def distances(self, queries: Texts, progress: Progress) -> Iterator[NDArray[np.float64]]:
        """See `Ranker.distances`."""
        from scipy.spatial.distance import cdist

        rows, means = _means(queries, self._gamma, self._idf)
        compared = _in_blocks(means, self._n, lambda block: cdist(block, self._means))
        for row, distances in enumerate(all_rows(compared, rows, self._rows, len(queries), self._n)):
            progress("Comparing centroids", row + 1, len(queries), "queries")
            yield distances


def _in_blocks(
    vectors: NDArray[np.float64], n: int, compare: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> Iterator[NDArray[np.float64]]:
    """Compare the vectors (m, dim) block by block with n documents; yield the distances of each."""
    size = max(1, min(_BLOCK, _BYTES // max(1, 8 * n)))
    for first in range(0, len(vectors), size):
        yield from compare(vectors[first : first + size])


def _documents(texts: Texts, gamma: float, idf: NDArray[np.float64] | None) -> tuple[NDArray[np.int64], Documents]:
    """Return the rows (m,) of the texts that have a known word, and these texts as the encoder's input."""
    rows, bags = texts.bags(gamma, idf)
    lengths = texts.counts.take(rows).lengths(texts.title_weight)
    vocabulary = texts.vocabulary
    return rows, Documents(bags, lengths, np.arange(len(vocabulary.known)), vocabulary.vectors)


def _means(
    texts: Texts, gamma: float, idf: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the rows (m,) of the texts that have a known word, and their mean word vectors (m, d)."""
    from scipy.sparse import csr_array

    rows, bags = texts.bags(gamma, idf)
    weights = csr_array((bags.weights, bags.words, bags.starts), shape=(len(rows), len(texts.vocabulary.known)))
    with single_threaded_blas():
        return rows, np.asarray(weights @ texts.vocabulary.vectors.astype(np.float64))
