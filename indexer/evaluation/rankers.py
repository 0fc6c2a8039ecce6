"""What ranks documents in an experiment: every distance, encoder and scorer of the project behind one door."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.evaluation.counted_texts import Texts
from moverank.indexer.progress import Progress
from moverank.rerank.bags.weights import PartCounts
from moverank.rerank.encoders.encoder import Documents, Encoder
from moverank.rerank.encoders.encoder_registry import choose as choose_encoder
from moverank.rerank.runtime.threads import single_threaded_blas
from moverank.rerank.scorers import SCORERS, Statistics, TermCounts, TermQuery, WordVectors
from moverank.rerank.scorers import choose as choose_scorer

FAR = np.inf
"""The distance of a document that cannot be ranked."""

_BLOCK = 64  # questions whose vectors are compared at once, if the documents are not too many
_BYTES = 64 * 2**20


class Ranker(Protocol):
    """Tells how far questions are from every document of a pool that it was made for: small is near."""

    def distances(self, questions: Texts, progress: Progress) -> Iterator[NDArray[np.float64]]:
        """Go through the distances (n,) of each question; infinite where one cannot be told."""
        ...

    def nearest(self, questions: Texts, k: int, progress: Progress) -> NDArray[np.int64]:
        """Return the places (q, k) of the nearest documents, nearest first; -1 where there is none."""
        ...


def nearest_of(rows: Iterator[NDArray[np.float64]], count: int, k: int) -> NDArray[np.int64]:
    """Return the places (count, k) of the smallest distances; equal ones in the order of the documents."""
    places = np.full((count, k), -1, np.int64)
    for row, distances in enumerate(rows):
        order = np.argsort(distances, kind="stable")[:k]
        order = order[np.isfinite(distances[order])]
        places[row, : len(order)] = order
    return places


class ScorerRanker:
    """Ranks by a scorer, whose scores are turned round where large is near."""

    def __init__(self, name: str, options: Mapping[str, str], pool: Texts, gamma: float = 0.0) -> None:
        self._kind, self._gamma, self._vocabulary = choose_scorer(name, options), gamma, pool.vocabulary
        frequencies = pool.document_frequencies
        used = frequencies > 0
        self._term = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
        self._frequencies = frequencies
        starts, words, weights = _merged(pool.counts, gamma)
        self._totals = np.bincount(words, weights, minlength=len(used)).astype(np.float64)
        vectors = WordVectors(pool.vocabulary.vectors[used], pool.vocabulary.known[used])
        counts = TermCounts(starts, self._term[words], weights, vectors if self._kind.needs_vectors else None)
        statistics = Statistics(len(pool), float(weights.sum()), frequencies[used], self._totals[used])
        with single_threaded_blas():
            self._scorer = self._kind.fit(counts, statistics, options)
        self._sign = 1.0 if SCORERS[name].ascending else -1.0

    def distances(self, questions: Texts, progress: Progress) -> Iterator[NDArray[np.float64]]:
        """See `Ranker.distances`."""
        starts, words, weights = _merged(questions.counts, self._gamma)
        for row in range(len(questions)):
            progress("Scoring", row + 1, len(questions), "queries")
            own = slice(starts[row], starts[row + 1])
            with single_threaded_blas():
                yield self._sign * self._scorer.score(self._query(words[own], weights[own]))

    def _query(self, words: NDArray[np.int32], weights: NDArray[np.float64]) -> TermQuery:
        vectors = None
        if self._kind.needs_vectors:
            vectors = WordVectors(self._vocabulary.vectors[words], self._vocabulary.known[words])
        return TermQuery(self._term[words], weights, self._frequencies[words], self._totals[words], vectors)

    def nearest(self, questions: Texts, k: int, progress: Progress) -> NDArray[np.int64]:
        """See `Ranker.nearest`."""
        return nearest_of(self.distances(questions, progress), len(questions), k)


class EncoderRanker:
    """Ranks by the vectors of an encoder, fitted to the pool: by Euclidean distance, or inner product turned round."""

    def __init__(
        self, name: str, options: Mapping[str, str], pool: Texts, gamma: float, idf: NDArray[np.float64] | None
    ) -> None:
        self._gamma, self._idf, self._n = gamma, idf, len(pool)
        self._rows, documents = _documents(pool, gamma, idf)
        self._encoder: Encoder = choose_encoder(name, options).fit(documents, options)
        self._vectors = self._encoder.encode(documents).astype(np.float64)
        self._squares = np.square(self._vectors).sum(axis=1)

    def distances(self, questions: Texts, progress: Progress) -> Iterator[NDArray[np.float64]]:
        """See `Ranker.distances`."""
        rows, documents = _documents(questions, self._gamma, self._idf)
        encoded = self._encoder.encode(documents).astype(np.float64) if len(rows) else np.empty((0, 0))
        compared = _in_blocks(encoded, self._n, self._compare)
        for row, distances in enumerate(over_all(compared, rows, self._rows, len(questions), self._n)):
            progress("Comparing vectors", row + 1, len(questions), "queries")
            yield distances

    def _compare(self, encoded: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distances (b, m) of encoded questions (b, dim)."""
        products: NDArray[np.float64] = encoded @ self._vectors.T
        if self._encoder.metric == "ip":
            return -products
        squares = self._squares + np.square(encoded).sum(axis=1)[:, None] - 2 * products
        distances: NDArray[np.float64] = np.sqrt(np.maximum(squares, 0))
        return distances

    def nearest(self, questions: Texts, k: int, progress: Progress) -> NDArray[np.int64]:
        """See `Ranker.nearest`."""
        return nearest_of(self.distances(questions, progress), len(questions), k)


class CentroidRanker:
    """Ranks by WCD, the Euclidean distance of mean word vectors, in double precision."""

    def __init__(self, pool: Texts, gamma: float, idf: NDArray[np.float64] | None) -> None:
        self._gamma, self._idf, self._n = gamma, idf, len(pool)
        self._rows, self._means = _means(pool, gamma, idf)

    def distances(self, questions: Texts, progress: Progress) -> Iterator[NDArray[np.float64]]:
        """See `Ranker.distances`."""
        from scipy.spatial.distance import cdist

        rows, means = _means(questions, self._gamma, self._idf)
        compared = _in_blocks(means, self._n, lambda some: cdist(some, self._means))
        for row, distances in enumerate(over_all(compared, rows, self._rows, len(questions), self._n)):
            progress("Comparing centroids", row + 1, len(questions), "queries")
            yield distances

    def nearest(self, questions: Texts, k: int, progress: Progress) -> NDArray[np.int64]:
        """See `Ranker.nearest`."""
        return nearest_of(self.distances(questions, progress), len(questions), k)


class RandomRanker:
    """Ranks by chance, the same for the same seed."""

    def __init__(self, pool: Texts, seed: int = 0) -> None:
        self._n, self._seed = len(pool), seed

    def distances(self, questions: Texts, progress: Progress) -> Iterator[NDArray[np.float64]]:
        """See `Ranker.distances`."""
        chance = np.random.default_rng(self._seed)
        for row in range(len(questions)):
            progress("Drawing", row + 1, len(questions), "queries")
            yield chance.permutation(self._n).astype(np.float64)

    def nearest(self, questions: Texts, k: int, progress: Progress) -> NDArray[np.int64]:
        """See `Ranker.nearest`."""
        return nearest_of(self.distances(questions, progress), len(questions), k)


def over_all(
    found: Iterable[NDArray[np.float64]], asking: NDArray[np.int64], rows: NDArray[np.int64], count: int, n: int
) -> Iterator[NDArray[np.float64]]:
    """Go through the distances (n,) of each of `count` questions to all documents.

    `found` (m,) are those of the questions `asking`, in order, to the documents `rows` (m,). All others are far.
    """
    turn, having = iter(found), set(asking.tolist())
    for question in range(count):
        distances = np.full(n, FAR)
        if question in having:
            distances[rows] = next(turn)
        yield distances


def _in_blocks(
    vectors: NDArray[np.float64], n: int, compare: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> Iterator[NDArray[np.float64]]:
    """Compare many of the vectors (m, dim) at a time with n documents; yield what comes out for each."""
    size = max(1, min(_BLOCK, _BYTES // max(1, 8 * n)))
    for first in range(0, len(vectors), size):
        yield from compare(vectors[first : first + size])


def _documents(texts: Texts, gamma: float, idf: NDArray[np.float64] | None) -> tuple[NDArray[np.int64], Documents]:
    """Return the texts that have a known word as an encoder takes them, and their rows."""
    rows, bags = texts.bags(gamma, idf)
    lengths = texts.counts.take(rows).lengths()
    vocabulary = texts.vocabulary
    return rows, Documents(bags, lengths, np.arange(len(vocabulary.known)), vocabulary.vectors)


def _means(
    texts: Texts, gamma: float, idf: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the mean word vectors (m, d) of the texts that have a known word, and their rows (m,)."""
    from scipy.sparse import csr_array

    rows, bags = texts.bags(gamma, idf)
    weights = csr_array((bags.weights, bags.words, bags.starts), shape=(len(rows), len(texts.vocabulary.known)))
    with single_threaded_blas():
        return rows, np.asarray(weights @ texts.vocabulary.vectors.astype(np.float64))


def _merged(counts: PartCounts, gamma: float) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Add up the counts of one word of one text, each by its part's rank: (1 / (1 + rank))^gamma."""
    rows = np.repeat(np.arange(len(counts)), np.diff(counts.starts))
    first = np.ones(len(rows), bool)
    first[1:] = (rows[1:] != rows[:-1]) | (counts.words[1:] != counts.words[:-1])
    heads = np.flatnonzero(first)
    weights = counts.counts * (1.0 / (1.0 + counts.ranks)) ** gamma
    starts = np.searchsorted(heads, counts.starts).astype(np.int64)
    return starts, counts.words[heads], np.add.reduceat(weights, heads) if len(heads) else np.empty(0)
