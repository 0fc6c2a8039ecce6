"""Keeps the distances of documents from a sample of documents in a file: mutual proximity needs them.

The sample is chosen once and stored with its own word vectors, so that later changes of the collection do not change
the distances of other documents. Documents are identified by a digest of their bag.
"""

from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.atomic_write import atomic_file
from moverank.indexer.files.checksums import checksum
from moverank.rerank.bags.bag import Bags

_HEADER = 32  # hexadecimal digits of the checksum


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
    with suppress(OSError, ValueError, KeyError, EOFError, BadZipFile):
        content = path.read_bytes() if path else b""
        if content[:_HEADER] == checksum(content[_HEADER:]).encode():
            with np.load(BytesIO(content[_HEADER:])) as stored:
                bags = Bags(stored["starts"], stored["words"], stored["weights"])
                arrays = (stored[name] for name in ("word_ids", "vectors", "documents", "digests", "distances"))
                word_ids, vectors, documents, digests, distances = arrays
            return StoredSample(bags, word_ids, vectors, int(documents), digests, distances)
    return None


def write_sample(path: Path | None, sample: StoredSample) -> None:
    """Write a sample and its distances atomically; nothing is kept without a `path`, or if it is not writable."""
    if path is None:
        return
    buffer = BytesIO()
    np.savez(
        buffer,
        starts=sample.bags.starts,
        words=sample.bags.words,
        weights=sample.bags.weights,
        word_ids=sample.word_ids,
        vectors=sample.vectors,
        documents=np.int64(sample.documents),
        digests=sample.digests,
        distances=sample.distances,
    )
    content = buffer.getvalue()
    with suppress(OSError), atomic_file(path) as file:  # the directory may be read-only, or the disk full
        file.write(checksum(content).encode() + content)
