"""Bags of words, the input of the distances: one bag, many as compressed sparse rows, and the difference of two."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moverank.rerank.errors import BagError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True, eq=False)
class Bag:
    """One document: word ids `words` (n,) int32, strictly increasing, and `weights` (n,) float64 > 0 that sum to 1.

    Raises BagError for any other arrays.
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
        """Return a bag of word ids (n,) in any order, repeated or not, and weights (n,) >= 0 of any scale.

        Weights are divided by the largest first, so that their sum neither overflows nor underflows.
        """
        given, amounts = np.asarray(words), np.asarray(weights, np.float64)
        if given.size and not (np.issubdtype(given.dtype, np.integer) and 0 <= given.min() <= given.max() < 2**31):
            raise BagError("word ids must be whole numbers from 0 to 2^31 - 1")
        ids = given.astype(np.int32)
        if ids.shape != amounts.shape or ids.ndim != 1:
            raise BagError(f"a bag needs as many weights as words, not {amounts.shape} and {ids.shape}")
        if not np.all(np.isfinite(amounts)) or np.any(amounts < 0) or not np.any(amounts > 0):
            raise BagError("weights must be finite, none negative, and at least one positive")
        distinct, positions = np.unique(ids, return_inverse=True)
        summed: NDArray[np.float64] = np.zeros(len(distinct))
        np.add.at(summed, positions, amounts / amounts.max())
        summed /= summed.sum()
        kept = summed > 0
        return cls(distinct[kept], summed[kept])


@dataclass(frozen=True, slots=True, eq=False)
class Bags:
    """Many bags as compressed sparse rows: bag i is the slice `starts[i]:starts[i + 1]` of `words` and `weights`.

    `starts` (n + 1,) int64, `words` (nnz,) int32, `weights` (nnz,) float64. Every row must be a valid `Bag`, which is
    not checked, because there may be millions.
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
        """Return only the bags `rows` (m,), in that order."""
        starts, entries = row_entries(self.starts, rows)
        return Bags(starts, self.words[entries], self.weights[entries])

    def portion(self, entries: int, rows: NDArray[np.int64] | None = None) -> int:
        """Return how many bags, of all or of `rows` (m,), have about `entries` entries together: at least one."""
        if rows is None:
            return max(1, entries * len(self) // max(1, int(self.starts[-1])))
        return max(1, entries * len(rows) // max(1, int(np.sum(self.starts[rows + 1] - self.starts[rows]))))

    def weighted(self) -> "Bags":
        """Return self: these bags are weighted already (`FactorBags` applies its factors here)."""
        return self

    @classmethod
    def concatenated(cls, several: "Sequence[Bags]") -> "Bags":
        """Return the bags of `several`, in the order given."""
        sizes = [np.zeros(1, np.int64), *(np.diff(bags.starts) for bags in several)]
        words, weights = [bags.words for bags in several], [bags.weights for bags in several]
        return cls(
            np.cumsum(np.concatenate(sizes)),
            np.concatenate([np.empty(0, np.int32), *words]),
            np.concatenate([np.empty(0), *weights]),
        )

    @classmethod
    def of(cls, bags: "list[Bag]") -> "Bags":
        """Pack bags, in the order given."""
        starts = np.zeros(len(bags) + 1, np.int64)
        np.cumsum([len(bag) for bag in bags], out=starts[1:])
        if not bags:
            return cls(starts, np.empty(0, np.int32), np.empty(0))
        words, weights = [bag.words for bag in bags], [bag.weights for bag in bags]
        return cls(starts, np.concatenate(words), np.concatenate(weights))


@dataclass(frozen=True, slots=True, eq=False)
class ResidualMass:
    """The mass that remains to be moved between two bags; the mass that both have on the same word stays in place."""

    common: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]
    """The positions (c,) of the shared words in the first bag and in the second, and the mass (c,) that stays."""
    sources: NDArray[np.intp]
    """(n,) The positions of the words with mass to move in the first bag."""
    targets: NDArray[np.intp]
    """(m,) The positions of the words with mass to move in the second bag."""
    left: NDArray[np.float64]
    """(n,) The mass of `sources`."""
    right: NDArray[np.float64]
    """(m,) The mass of `targets`."""

    @classmethod
    def of(cls, source: Bag, target: Bag) -> "ResidualMass":
        """Subtract the smaller weight of each shared word from both, which keeps the distance, as cost is a metric."""
        _, first, second = np.intersect1d(source.words, target.words, assume_unique=True, return_indices=True)
        stays = np.minimum(source.weights[first], target.weights[second])
        left, right = source.weights.copy(), target.weights.copy()
        left[first] -= stays
        right[second] -= stays
        sources, targets = np.flatnonzero(left > 0), np.flatnonzero(right > 0)
        return cls((first, second, stays), sources, targets, left[sources], right[targets])


def row_entries(
    starts: NDArray[np.int64], rows: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Select `rows` (m,) of compressed sparse rows with these `starts` (n + 1,).

    Returns the starts (m + 1,) of the selected rows, and the indices of their entries in the arrays of all rows.
    """
    lengths = starts[rows + 1] - starts[rows]
    selected = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(lengths, out=selected[1:])
    entries = np.arange(selected[-1]) + np.repeat(starts[rows] - selected[:-1], lengths)
    return selected, entries


def run_heads(starts: NDArray[np.int64], *columns: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return which entries (nnz,) differ from the previous one of their row; rows begin at `starts` (n + 1,)."""
    heads = np.ones(len(columns[0]), bool)
    heads[1:] = reduce(np.logical_or, (column[1:] != column[:-1] for column in columns))
    heads[starts[:-1][np.diff(starts) > 0]] = True
    return heads


def lookup(ids: NDArray[np.int64], sorted_ids: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Look up `ids` (n,) in the strictly increasing `sorted_ids` (w,).

    Returns their indices (n,), and whether each id is present (n,); the index of an absent id is arbitrary.
    """
    indices = np.searchsorted(sorted_ids, ids)
    present = indices < len(sorted_ids)
    present[present] = sorted_ids[indices[present]] == ids[present]
    return indices, present


def summed_by_id(
    parts: Sequence[tuple[NDArray[np.integer[Any]], NDArray[np.int64]]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids (n,), increasing, of `parts`, each increasing ids and their numbers, and the sums (n,) by id."""
    if len(parts) == 1:
        return parts[0][0].astype(np.int64, copy=False), parts[0][1]
    every = np.concatenate([np.empty(0, np.int64), *(own for own, _ in parts)])
    ids, places = np.unique(every, return_inverse=True)
    sums = np.zeros(len(ids), np.int64)
    np.add.at(sums, places, np.concatenate([np.empty(0, np.int64), *(numbers for _, numbers in parts)]))
    return ids, sums


def unit_sparse_rows(bags: Bags, columns: int) -> "csr_array[np.float64, tuple[int, int]]":
    """Return bags as a sparse matrix (n, columns) of rows of Euclidean length 1; an empty bag is an empty row."""
    from scipy.sparse import csr_array  # 0.2 s

    rows = np.repeat(np.arange(len(bags)), np.diff(bags.starts))
    lengths = np.sqrt(np.bincount(rows, bags.weights**2, len(bags)))
    return csr_array((bags.weights / lengths[rows], bags.words, bags.starts), shape=(len(bags), columns))


TITLE = -1
"""The rank that marks the words of a title: they count `title_weight` times, independently of gamma."""
