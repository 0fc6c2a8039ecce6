"""Bags of words: what a document is to every distance."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moverank.rerank.errors import BagError


@dataclass(frozen=True, slots=True, eq=False)
class Bag:
    """One document: word ids `words` (n,) int32, strictly increasing, and `weights` (n,) float64 > 0 that sum to 1.

    Raises BagError where the arrays break these rules.
    """

    words: NDArray[np.int32]
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.words.ndim != 1 or self.words.shape != self.weights.shape:
            raise BagError(f"a bag needs as many weights as words, not {self.weights.shape} and {self.words.shape}")
        if not len(self.words):
            raise BagError("a bag needs at least one word")
        if np.any(np.diff(self.words) <= 0) or self.words[0] < 0:
            raise BagError("word ids must be 0 or more and strictly increasing")
        if not (np.all(self.weights > 0) and abs(float(self.weights.sum()) - 1) < 1e-9):
            raise BagError("weights must be positive and sum to 1")

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def of(cls, words: ArrayLike, weights: ArrayLike) -> "Bag":
        """Make a bag of word ids (n,) in any order, repeated or not, and weights (n,) >= 0 of any scale.

        Weights are made relative to the largest first, so that neither overflow nor underflow can spoil their sum.
        """
        given, amounts = np.asarray(words), np.asarray(weights, np.float64)
        if given.size and not (np.issubdtype(given.dtype, np.integer) and 0 <= given.min() <= given.max() < 2**31):
            raise BagError("word ids must be whole numbers from 0 to 2^31 - 1")
        ids = given.astype(np.int32)
        if ids.shape != amounts.shape or ids.ndim != 1:
            raise BagError(f"a bag needs as many weights as words, not {amounts.shape} and {ids.shape}")
        if not np.all(np.isfinite(amounts)) or np.any(amounts < 0) or not np.any(amounts > 0):
            raise BagError("weights must be finite, none negative, and one positive")
        distinct, place = np.unique(ids, return_inverse=True)
        summed: NDArray[np.float64] = np.zeros(len(distinct))
        np.add.at(summed, place, amounts / amounts.max())
        summed /= summed.sum()
        kept = summed > 0
        return cls(distinct[kept], summed[kept])


@dataclass(frozen=True, slots=True, eq=False)
class Bags:
    """Many bags as compressed sparse rows: bag i is the slice `starts[i]:starts[i + 1]` of `words` and `weights`.

    `starts` (n + 1,) int64, `words` (nnz,) int32, `weights` (nnz,) float64. A row keeps the rules of `Bag`; it is not
    checked again, for there may be millions.
    """

    starts: NDArray[np.int64]
    words: NDArray[np.int32]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> Bag:
        row = slice(self.starts[index], self.starts[index + 1])
        return Bag(self.words[row], self.weights[row])

    def __iter__(self) -> Iterator[Bag]:
        return (self[i] for i in range(len(self)))

    def take(self, rows: NDArray[np.int64]) -> "Bags":
        """Return the bags of rows (m,) only, in that order."""
        starts, places = row_entries(self.starts, rows)
        return Bags(starts, self.words[places], self.weights[places])

    @classmethod
    def of(cls, bags: "list[Bag]") -> "Bags":
        """Pack bags into rows, in the order given."""
        starts = np.zeros(len(bags) + 1, np.int64)
        np.cumsum([len(bag) for bag in bags], out=starts[1:])
        if not bags:
            return cls(starts, np.empty(0, np.int32), np.empty(0))
        words, weights = [bag.words for bag in bags], [bag.weights for bag in bags]
        return cls(starts, np.concatenate(words), np.concatenate(weights))


@dataclass(frozen=True, slots=True, eq=False)
class Rest:
    """What two bags have to move when the mass that both have on the same word stays where it is.

    `common` (c,) are the places of shared words in the first and in the second bag and the mass that stays, `sources`
    (n,) and `targets` (m,) the places of words with a rest, and `left` and `right` their rests.
    """

    common: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]
    sources: NDArray[np.intp]
    targets: NDArray[np.intp]
    left: NDArray[np.float64]
    right: NDArray[np.float64]

    @classmethod
    def of(cls, source: Bag, target: Bag) -> "Rest":
        """Take the smaller weight of each shared word off both: nothing is lost, for the ground cost is a metric."""
        _, here, there = np.intersect1d(source.words, target.words, assume_unique=True, return_indices=True)
        stays = np.minimum(source.weights[here], target.weights[there])
        left, right = source.weights.copy(), target.weights.copy()
        left[here] -= stays
        right[there] -= stays
        sources, targets = np.flatnonzero(left > 0), np.flatnonzero(right > 0)
        return cls((here, there, stays), sources, targets, left[sources], right[targets])


def row_entries(starts: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Say where the entries of chosen `rows` (m,) lie in compressed sparse rows.

    Returns the chosen rows' own starts (m + 1,) and the places (nnz of them,) of their entries.
    """
    lengths = starts[rows + 1] - starts[rows]
    chosen = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(lengths, out=chosen[1:])
    places = np.arange(chosen[-1]) + np.repeat(starts[rows] - chosen[:-1], lengths)
    return chosen, places
