"""Chooses the FAISS index of the first stage by size, if the settings name none."""

from dataclasses import dataclass

from moverank.indexer.options import EXACT_UP_TO
from moverank.indexer.snapshot.first_stage import FLAT

AUTO = "auto"

SMALL_BYTES = 64 * 2**20
"""Total bytes of the vectors up to which compression is of no use: they are scanned in a few milliseconds."""
SHORT_BYTES = 1024
"""Bytes of a vector up to which it takes no more memory than the bag of a text of 80 words."""
LONG_DIM = 1024
"""Number of dimensions from which one bit for each is enough: the error falls with its square root."""


def choose(n: int, dim: int) -> str:
    """Return the factory string for `n` vectors of `dim` numbers.

    `IDMap2,Flat` if all vectors together are small, or if vectors are short and searches compare all documents: nothing
    is lost, and with centroids the distance beyond the last candidate has a known bound, which may prove the result.
    Other vectors that are not long become `SQ8`, a quarter of the memory.

    `HR,RaBitQ` for long ones: a bit for each number after a rotation (Gao & Long 2024), 1/31 of the memory. With Fisher
    vectors of 100,000 documents it finds .71 and .89 of the exact ten among 100 and 500 candidates, in 12 ms; the flat
    index .72 and .89, in 119 ms; SQ4 as many, in 1/8 of the memory and 130 ms. Product quantisers and PCA lose far more
    (tests/benchmarks/faiss_indexes.py). An inverted file of 256 lists, a quarter of them probed, finds .73 and .87 in
    5 ms, but on one core: codes without lists are scanned on all cores.
    """
    size = 4 * dim
    if n * size <= SMALL_BYTES or (size <= SHORT_BYTES and n <= EXACT_UP_TO):
        return FLAT
    return "HR,RaBitQ" if dim >= LONG_DIM else "SQ8"


@dataclass(frozen=True, slots=True)
class IndexInUse:
    """The index of a snapshot: its `factory` string, number of `documents`, their dimension, and size in `bytes`."""

    factory: str
    documents: int
    dim: int
    bytes: int

    def sentence(self) -> str:
        """Return a description, with its memory as a share of that of uncompressed vectors."""
        plain = 4 * self.dim * self.documents
        share = f"1/{round(plain / self.bytes)}" if plain > 1.5 * self.bytes else "all"
        vectors = f"{self.documents:,} documents of {4 * self.dim:,} bytes each"
        return f"first stage: {self.factory} for {vectors}, in {share} of the memory (--faiss names another index)"
