"""Word vectors of terms, for scorers that compare words by their vectors."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import ScorerError

_BLOCK = 4096


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """Word vectors of terms: `vectors` (t, d) float32, finite, and `known` (t,) bool, whether the term has one.

    A zero vector counts as none. Raises ScorerError for inconsistent shapes.
    """

    vectors: NDArray[np.float32]
    known: NDArray[np.bool_]

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or self.known.shape != self.vectors.shape[:1]:
            raise ScorerError(
                f"vectors of shape {self.vectors.shape} need as many `known` as rows, not {self.known.shape}"
            )

    def __len__(self) -> int:
        return len(self.known)

    def lengths(self) -> NDArray[np.float64]:
        """Return the Euclidean lengths (t,), 0 for a term without a vector."""
        lengths = np.zeros(len(self))
        for start in range(0, len(self), _BLOCK):
            block = self.vectors[start : start + _BLOCK].astype(np.float64)
            lengths[start : start + _BLOCK] = np.sqrt(np.einsum("ij,ij->i", block, block))
        return np.where(self.known, lengths, 0.0)

    def products(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the inner products (t, h) with `directions` (h, d), 0 for a term without a vector.

        Products are computed in float64: in float32 the other words would change the product of a word by up to 1e-7.
        """
        products = np.zeros((len(self), len(directions)))
        rows = np.flatnonzero(self.known)
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            products[block] = self.vectors[block].astype(np.float64) @ directions.T
        return products


def checked_vectors(scorer: str, words: WordVectors | None, terms: int, dim: int | None = None) -> WordVectors:
    """Return `words` if they are the vectors of `terms` terms, of `dim` dimensions unless that is None.

    Raises ScorerError for missing or other vectors; the message names the `scorer`.
    """
    if words is None:
        raise ScorerError(
            f"{scorer} compares words by their vectors: give `word_vectors` with the counts and the query"
        )
    if len(words) != terms:
        raise ScorerError(f"there are {terms} terms but {len(words)} word vectors: give one for each")
    if dim not in (None, words.vectors.shape[1]):
        raise ScorerError(f"the query's word vectors have {words.vectors.shape[1]} dimensions, the segment's {dim}")
    return words
