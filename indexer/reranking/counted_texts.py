"""Word counts of documents and queries over one vocabulary, held in memory for experiments."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.snapshot.content_sample import ContentSample
from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.title_rank import TITLE
from moverank.rerank.bags.weights import PartCounts, inverse_document_frequency, ranked_counts, weigh


@dataclass(frozen=True, eq=False)
class CorpusVocabulary:
    """Words by index: `vectors` (t, d) float32, `known` (t,) whether a word has one; `fingerprint` identifies both.

    `words` are their texts.
    """

    vectors: NDArray[np.float32]
    known: NDArray[np.bool_]
    fingerprint: str
    words: tuple[str, ...] = ()

    @cached_property
    def _vector_digests(self) -> NDArray[np.bytes_]:
        """Return a digest (t,) of each word's vector."""
        stored = np.ascontiguousarray(self.vectors, "<f4")
        return np.array([_digest(row.tobytes()) for row in stored], "S32")

    def bag_digests(self, bags: Bags) -> NDArray[np.bytes_]:
        """Return a digest (n,) of each bag's vectors and weights, which determine distances."""
        digests = []
        for row in range(len(bags)):
            entries = slice(bags.starts[row], bags.starts[row + 1])
            vectors = self._vector_digests[bags.words[entries]]
            # New words change the indices of others, so the words are sorted by the digests of their vectors.
            order = np.argsort(vectors, kind="stable")
            # Sums over words in another order differ in the last digits, so the weights are rounded.
            weights = np.rint(bags.weights[entries][order] * 2.0**44).astype("<i8")
            digests.append(_digest(vectors[order].tobytes() + weights.tobytes()))
        return np.array(digests, "S32")


@dataclass(frozen=True, eq=False)
class Texts:
    """Counted texts: row i of `counts` belongs to `keys[i]`, and may be empty; its words are indices of `vocabulary`.

    `labels` (n,) is empty if the texts are not documents. The words of a title count `title_weight` times. `ids` (n,),
    increasing, are those of documents in the store. `total` is the number of documents that idf counts, those without a
    word included; None: n. `sample` is that of the collection, by which its searches estimate typical distances.
    """

    keys: tuple[str, ...]
    counts: PartCounts
    vocabulary: CorpusVocabulary
    labels: tuple[str | None, ...] = ()
    title_weight: float = 1.0
    ids: tuple[int, ...] = ()
    total: int | None = None
    sample: ContentSample | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> "Texts":
        """Return the texts at `rows` (m,), in that order."""
        chosen = np.asarray(rows, np.int64)
        keys = tuple(self.keys[row] for row in chosen.tolist())
        labels = tuple(self.labels[row] for row in chosen.tolist()) if self.labels else ()
        ids = tuple(self.ids[row] for row in chosen.tolist()) if self.ids else ()
        total, sample = (self.total, self.sample) if len(chosen) == len(self) else (None, None)
        return Texts(keys, self.counts.take(chosen), self.vocabulary, labels, self.title_weight, ids, total, sample)

    @property
    def documents(self) -> int:
        """Return the number of documents that idf counts."""
        return len(self) if self.total is None else self.total

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Return the row of each key."""
        return {key: row for row, key in enumerate(self.keys)}

    @cached_property
    def idf(self) -> NDArray[np.float64]:
        """Return the idf (t,) of every word among these texts."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.counts.starts))
        first = np.ones(len(rows), bool)
        first[1:] = (rows[1:] != rows[:-1]) | (self.counts.words[1:] != self.counts.words[:-1])
        frequencies = np.bincount(self.counts.words[first], minlength=len(self.vocabulary.known)).astype(np.int64)
        return inverse_document_frequency(frequencies, self.documents)

    def bags(self, gamma: float, idf: NDArray[np.float64] | None) -> tuple[NDArray[np.int64], Bags]:
        """Return the rows (m,) of the texts that have a known word, and their bags; see `weigh`."""
        known = _keep_words(self.counts, self.vocabulary.known)
        rows = np.flatnonzero(np.diff(known.starts))
        return rows, weigh(known.take(rows), gamma, idf, self.title_weight)

    def bags_of_all_words(self, gamma: float, idf: NDArray[np.float64] | None) -> tuple[NDArray[np.int64], Bags]:
        """Return as `bags`, of the texts that have any word, with the words that have no vector."""
        rows = np.flatnonzero(np.diff(self.counts.starts))
        return rows, weigh(self.counts.take(rows), gamma, idf, self.title_weight)

    def unknown_words(self, row: int) -> list[str]:
        """Return the words of a text that have no vector."""
        words = np.unique(self.counts.words[self.counts.starts[row] : self.counts.starts[row + 1]])
        return [self.vocabulary.words[word] for word in words[~self.vocabulary.known[words]].tolist()]

    def ranked_counts(self, gamma: float) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return starts (n + 1,), words and amounts > 0 of the counts of all words; see `weights.ranked_counts`."""
        filled = np.flatnonzero(np.diff(self.counts.starts))
        starts, words, amounts = ranked_counts(self.counts.take(filled), gamma, self.title_weight)
        lengths = np.zeros(len(self), np.int64)
        lengths[filled] = np.diff(starts)
        return np.concatenate([[0], np.cumsum(lengths)]), words, amounts

    @cached_property
    def digest(self) -> bytes:
        """Return a digest of everything that determines distances."""
        total = hashlib.sha256(self.vocabulary.fingerprint.encode())
        for array in (self.counts.starts, self.counts.words, self.counts.ranks, self.counts.counts):
            total.update(np.ascontiguousarray(array, "<i8").tobytes())
        if np.any(self.counts.ranks == TITLE):
            total.update(np.float64(self.title_weight).tobytes())
        return total.digest()


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _keep_words(counts: PartCounts, allowed: NDArray[np.bool_]) -> PartCounts:
    """Return only the counts of `allowed` (t,) words; rows may become empty."""
    entries = allowed[counts.words]
    starts = np.concatenate([[0], np.cumsum(entries)])[counts.starts].astype(np.int64)
    return PartCounts(starts, counts.words[entries], counts.ranks[entries], counts.counts[entries])
