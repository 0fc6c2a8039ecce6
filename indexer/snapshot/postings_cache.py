"""Caches the inverted file of a snapshot's counts in the collection: a search by BM25 needs few of its postings."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.directory import CACHED
from moverank.indexer.files.mapped_arrays import read_mapped, write_mapped
from moverank.rerank.scorers import Postings


@dataclass(frozen=True, slots=True, eq=False)
class CountedPostings:
    """The postings of counts, their sums `amounts` (t,) by term and `lengths` (n,) by document.

    `sizes` (n,) int32 are the numbers of different terms of each document.
    """

    postings: Postings
    amounts: NDArray[np.float64]
    lengths: NDArray[np.float64]
    sizes: NDArray[np.int32]

    @classmethod
    def of(cls, postings: Postings) -> "CountedPostings":
        """Compute the sums of `postings`."""
        terms = np.repeat(np.arange(len(postings.starts) - 1), np.diff(postings.starts))
        amounts = np.bincount(terms, postings.values, len(postings.starts) - 1).astype(np.float64, copy=False)
        sizes = np.bincount(postings.documents, minlength=postings.size).astype(np.int32)
        return cls(postings, amounts, postings.document_sums(postings.values), sizes)


@dataclass(frozen=True, slots=True)
class PostingsCache:
    """The file `path` of postings, valid for `key`, which identifies the counts and how they are weighted."""

    path: Path
    key: str

    @classmethod
    def of(cls, directory: Path, name: str, key: str) -> "PostingsCache":
        """Return the cache in a collection's `directory` for terms of a `name`."""
        return cls(directory / f"{CACHED}postings-{name}", key)

    def read(self) -> CountedPostings | None:
        """Map the postings; None if they are not there, not valid, or damaged."""
        stored = read_mapped(self.path, self.key)
        if stored is None:
            return None
        postings = Postings(stored["starts"], stored["documents"], stored["values"], len(stored["sizes"]))
        return CountedPostings(postings, stored["amounts"], stored["lengths"], stored["sizes"])

    def write(self, counted: CountedPostings) -> None:
        """Write postings, unless the file cannot be written."""
        postings = counted.postings
        write_mapped(
            self.path,
            self.key,
            {
                "starts": postings.starts,
                "documents": postings.documents,
                "values": postings.values,
                "amounts": counted.amounts,
                "lengths": counted.lengths,
                "sizes": counted.sizes,
            },
        )
