"""Which FAISS index holds the first stage's vectors where nobody names one."""

from dataclasses import dataclass

from moverank.indexer.search.query import EXACT_UP_TO
from moverank.indexer.snapshot.first_stage import FLAT

AUTO = "auto"

SMALL = 64 * 2**20
"""Bytes of all vectors up to which there is nothing to gain: they are looked through in a few milliseconds."""
SHORT = 1024
"""Bytes of a vector that is not the larger part of its document: the bag of a text of 80 words takes as much."""
LONG = 1024
"""Dimensions from which a bit for each is enough: the error falls with their root."""


def choose(n: int, dim: int) -> str:
    """Return the factory string for `n` vectors of `dim` numbers.

    `IDMap2,Flat` as long as the vectors are small together, or short: nothing is lost, and of centroids the distance
    after the last candidate is known, which may prove the result. Short ones become `SQ8`, a quarter, in collections so
    large that a search compares candidates only; so do those that are neither short nor long.

    `HR,RaBitQ` for long ones: a bit for each number after a rotation (Gao & Long 2024), 1/31 of the memory. With Fisher
    vectors of 100,000 documents it finds .71 and .89 of the exact ten among 100 and 500 candidates, in 12 ms; the flat
    index .72 and .89, in 119 ms; SQ4 as many, in 1/8 of the memory and 130 ms. Product quantisers and PCA lose far more
    (tests/benchmarks/compressed.py). An inverted file of 256 lists, a quarter of them opened, finds .73 and .87 in
    5 ms, but on one core: codes without lists are looked through on all of them.
    """
    size = 4 * dim
    if n * size <= SMALL or (size <= SHORT and n <= EXACT_UP_TO):
        return FLAT
    return "HR,RaBitQ" if dim >= LONG else "SQ8"


@dataclass(frozen=True, slots=True)
class InUse:
    """The index of a snapshot: its factory string, how many `documents` it has, their vectors' `dim`, its `bytes`."""

    factory: str
    documents: int
    dim: int
    bytes: int

    def told(self) -> str:
        """Say it in a sentence, with what it saves."""
        plain = 4 * self.dim * self.documents
        share = f"1/{round(plain / self.bytes)}" if plain > 1.5 * self.bytes else "all"
        vectors = f"{self.documents:,} documents of {4 * self.dim:,} bytes each"
        return f"first stage: {self.factory} for {vectors}, in {share} of the memory (--faiss names another index)"
