"""Keeps the distances of documents from a sample of documents in a file: mutual proximity needs them.

The sample is chosen once and stored with its own word vectors, so that later changes of the collection do not change
the distances of other documents. Documents are identified by a digest of their bag.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.cached_arrays import read_arrays, write_arrays
from moverank.rerank.bags.bag import Bags


@dataclass(frozen=True, slots=True, eq=False)
class StoredSample:
    """A sample of s documents, and the distances of n documents from it.

    `bags` (s) have words that are rows of `vectors` (v, d); `word_ids` (v,) are increasing ids of these vectors.
    `digests` (n,), increasing, identify the documents whose `distances` (n, s) are stored, nan: not computed yet.
    `documents` is the number of documents of the collection when the sample was chosen.
    """

    bags: Bags
    word_ids: NDArray[np.int64]
    vectors: NDArray[np.float32]
    documents: int
    digests: NDArray[np.int64]
    distances: NDArray[np.float64]


def read_sample(path: Path | None) -> StoredSample | None:
    """Read what `write_sample` wrote; None if there is no such file, or if it is damaged."""
    stored = read_arrays(path)
    if stored is None:
        return None
    bags = Bags(stored["starts"], stored["words"], stored["weights"])
    documents = int(stored["documents"])
    return StoredSample(bags, stored["word_ids"], stored["vectors"], documents, stored["digests"], stored["distances"])


def write_sample(path: Path | None, sample: StoredSample) -> None:
    """Write a sample and its distances; see `write_arrays`."""
    arrays: dict[str, NDArray[Any]] = {
        "starts": sample.bags.starts,
        "words": sample.bags.words,
        "weights": sample.bags.weights,
        "word_ids": sample.word_ids,
        "vectors": sample.vectors,
        "documents": np.array(sample.documents),
        "digests": sample.digests,
        "distances": sample.distances,
    }
    write_arrays(path, arrays)
