"""Counted texts as experiments see them: documents and questions alike, over one vocabulary held in memory."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import PartCounts, inverse_document_frequency, weigh


@dataclass(frozen=True, eq=False)
class CorpusVocabulary:
    """Words by place: `vectors` (t, d) float32, `known` (t,) whether a word has one; `fingerprint` names them."""

    vectors: NDArray[np.float32]
    known: NDArray[np.bool_]
    fingerprint: str

    @cached_property
    def _vector_digests(self) -> NDArray[np.bytes_]:
        """Return a digest (t,) of each word's vector."""
        stored = np.ascontiguousarray(self.vectors, "<f4")
        return np.array([_digest(row.tobytes()) for row in stored], "S32")

    def bag_digests(self, bags: Bags) -> NDArray[np.bytes_]:
        """Return a digest (n,) of each bag's vectors and weights: all that a distance depends on."""
        found = []
        for row in range(len(bags)):
            own = slice(bags.starts[row], bags.starts[row + 1])
            vectors = self._vector_digests[bags.words[own]]
            # Words are numbered anew when others come: the order is that of the digests.
            order = np.argsort(vectors, kind="stable")
            # Sums over words in another order differ in the last digits.
            weights = np.rint(bags.weights[own][order] * 2.0**44).astype("<i8")
            found.append(_digest(vectors[order].tobytes() + weights.tobytes()))
        return np.array(found, "S32")


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts by key; row i of `counts`, over the places of a vocabulary, belongs to `keys[i]` and may be empty.

    `labels` are there where documents have one.
    """

    keys: tuple[str, ...]
    counts: PartCounts
    vocabulary: CorpusVocabulary
    labels: tuple[str | None, ...] = ()

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> "Texts":
        """Return some texts only, in that order."""
        chosen = np.asarray(rows, np.int64)
        keys = tuple(self.keys[row] for row in chosen.tolist())
        labels = tuple(self.labels[row] for row in chosen.tolist()) if self.labels else ()
        return Texts(keys, self.counts.take(chosen), self.vocabulary, labels)

    @cached_property
    def place(self) -> dict[str, int]:
        """Return the row of each key."""
        return {key: row for row, key in enumerate(self.keys)}

    @cached_property
    def document_frequencies(self) -> NDArray[np.int64]:
        """Return in how many texts (t,) each word is."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.counts.starts))
        first = np.ones(len(rows), bool)
        first[1:] = (rows[1:] != rows[:-1]) | (self.counts.words[1:] != self.counts.words[:-1])
        found = np.bincount(self.counts.words[first], minlength=len(self.vocabulary.known))
        return found.astype(np.int64)

    @cached_property
    def idf(self) -> NDArray[np.float64]:
        """Return the idf (t,) of every word among these texts."""
        return inverse_document_frequency(self.document_frequencies, len(self))

    def bags(self, gamma: float, idf: NDArray[np.float64] | None) -> tuple[NDArray[np.int64], Bags]:
        """Return the bags of known words, and the rows (m,) of the texts that have one."""
        known = restricted(self.counts, self.vocabulary.known)
        rows = np.flatnonzero(np.diff(known.starts))
        return rows, weigh(known.take(rows), gamma, idf)

    @cached_property
    def digest(self) -> bytes:
        """Return a digest of what any distance depends on."""
        total = hashlib.sha256(self.vocabulary.fingerprint.encode())
        for array in (self.counts.starts, self.counts.words, self.counts.ranks, self.counts.counts):
            total.update(np.ascontiguousarray(array, "<i8").tobytes())
        return total.digest()


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def restricted(counts: PartCounts, allowed: NDArray[np.bool_]) -> PartCounts:
    """Leave out the words that are not allowed (t,); rows may become empty."""
    kept = allowed[counts.words]
    starts = np.concatenate([[0], np.cumsum(kept)])[counts.starts].astype(np.int64)
    return PartCounts(starts, counts.words[kept], counts.ranks[kept], counts.counts[kept])
