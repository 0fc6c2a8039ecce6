"""A sample of the documents with a bag: the documents with the smallest digests of their content.

It does not depend on ids, keys, or the order in which documents were added, and the sample of several collections
together follows from the sample of each. Mutual proximity needs the distances of documents from a sample: a file keeps
the distances with the sample's own word vectors, so that they do not depend on later changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.arrays import Arrays, Kinds, are_starts, is_within, read_arrays, write_arrays
from moverank.rerank.bags.bag import Bags

if TYPE_CHECKING:
    from moverank.indexer.store import Reader


SAMPLE = 256
"""Number of documents in a sample: the typical distance of a query and mutual proximity are estimated from it."""

_SPARE = 4  # a snapshot keeps this many times as many: some may be removed later
DIGEST_BYTES = 6
"""Number of first bytes of a digest, an integer that is exact in float64."""


class ContentSample(NamedTuple):
    """Ids (s,) int64 of documents, and numbers from their digests (s,) float64, increasing."""

    ids: NDArray[np.int64]
    digests: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, bytes]]) -> "ContentSample":
        """Return the sample of `rows`: ids and digests, ordered by digest."""
        numbers = [float(int.from_bytes(digest[:DIGEST_BYTES], "big")) for _, digest in rows]
        return cls(np.array([id_ for id_, _ in rows], np.int64), np.array(numbers, np.float64))

    @classmethod
    def stored(cls, reader: "Reader") -> "ContentSample":
        """Return the sample that a snapshot of the state of `reader` keeps."""
        return cls.of(reader.least_digests(_SPARE * SAMPLE))

    @classmethod
    def current(
        cls, reader: "Reader", since: int, before: "ContentSample | None", gone: NDArray[np.int64]
    ) -> "ContentSample":
        """Return the sample of the state of `reader`; `before` is the sample at the revision `since`, None without one.

        `gone` (m,) are the ids of documents changed or removed since then. With too many of them in `before`, all
        documents are compared.
        """
        if before is not None:
            live = ~np.isin(before.ids, gone)
            if live.sum() >= SAMPLE or len(before.ids) < _SPARE * SAMPLE:
                new = cls.of(reader.least_digests(SAMPLE, since))
                ids, digests = np.append(before.ids[live], new.ids), np.append(before.digests[live], new.digests)
                return cls(ids, digests).least()
        return cls.of(reader.least_digests(SAMPLE))

    @classmethod
    def read(cls, array: NDArray[np.float64]) -> "ContentSample":
        """Return the sample that `array` turned into an array."""
        ids, digests = array.reshape(2, -1)
        return cls(ids.astype(np.int64), digests)

    def least(self) -> "ContentSample":
        """Return the documents with the smallest digests, in order; joined samples become one sample."""
        order = np.lexsort((self.ids, self.digests))[:SAMPLE]
        return ContentSample(self.ids[order], self.digests[order])

    def array(self) -> NDArray[np.float64]:
        """Return ids and digests in one array (2 * s,)."""
        return np.append(self.ids.astype(np.float64), self.digests)


_KINDS: Kinds = {
    "starts": ("<i8", 1),
    "words": ("<i4", 1),
    "weights": ("<f8", 1),
    "word_ids": ("<i8", 1),
    "vectors": ("<f4", 2),
    "documents": ("<i8", 0),
    "digests": ("<i8", 1),
    "distances": ("<f8", 2),
}


@dataclass(frozen=True, slots=True, eq=False)
class StoredSample:
    """A sample of s documents, and the distances of n documents from it."""

    bags: Bags
    """The bags (s) of the sample; their words are rows of `vectors`."""
    word_ids: NDArray[np.int64]
    """The ids (v,), increasing, of the words of `vectors`."""
    vectors: NDArray[np.float32]
    """The word vectors (v, d) of the sample."""
    documents: int
    """The number of documents of the collection when the sample was chosen."""
    digests: NDArray[np.int64]
    """Identify the documents (n,) whose distances are stored; increasing."""
    distances: NDArray[np.float64]
    """The distances (n, s); nan: not computed yet."""


def read_sample(path: Path | None) -> StoredSample | None:
    """Read the sample that `write_sample` wrote; None if there is no such file, or if it is damaged."""
    stored = read_arrays(path, kinds=_KINDS)
    if stored is None or not _is_valid(stored):
        return None
    starts, words, weights, word_ids, vectors, documents, digests, distances = (stored[name] for name in _KINDS)
    return StoredSample(Bags(starts, words, weights), word_ids, vectors, int(documents), digests, distances)


def _is_valid(stored: Arrays) -> bool:
    """Return whether the indices in arrays of a sample are below the sizes of other arrays."""
    bags, words, sizes = len(stored["starts"]) - 1, len(stored["word_ids"]), stored["distances"].shape
    same = len(stored["words"]) == len(stored["weights"]) and len(stored["vectors"]) == words
    return (
        same
        and are_starts(stored["starts"], bags, len(stored["words"]), filled=True)
        and is_within(stored["words"], 0, words)
        and is_within(stored["weights"], np.finfo(float).tiny, 2.0)
        and all(bool(np.all(np.diff(stored[name]) > 0)) for name in ("word_ids", "digests"))
        and sizes == (len(stored["digests"]), bags)
    )


def write_sample(path: Path | None, sample: StoredSample) -> None:
    """Write a sample and its distances; see `write_arrays`."""
    own, documents = sample.bags, np.array(sample.documents)
    words = own.starts, own.words, own.weights, sample.word_ids, sample.vectors
    write_arrays(path, dict(zip(_KINDS, (*words, documents, sample.digests, sample.distances), strict=True)))
