"""Word counts of titles and ranked parts, document frequencies of words, and the weights computed from both.

A factor of each word, such as its idf or the length of its vector, is applied only where a search needs it: most
documents are pruned by a mean of their words.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import TITLE, Bag, Bags, lookup, row_entries, run_heads
from moverank.rerank.errors import BagError
from moverank.rerank.runtime.deadline import check_time

ENTRIES = 1 << 22
"""From this many entries, weights of all bags take long to compute and keep."""


@dataclass(frozen=True, slots=True, eq=False)
class PartCounts:
    """Word counts of documents with a title and ranked parts, as compressed sparse rows.

    Document i is the slice `starts[i]:starts[i + 1]` of `words`, `ranks` and `counts` (nnz,) int32: the count of a word
    in the parts of that rank (0 is the top), or in the title (rank `TITLE`). The entries of a document are sorted by
    word; a word has one entry for each rank. Counts of a query may be shares of a count, float64.
    """

    starts: NDArray[np.int64]
    words: NDArray[np.int32]
    ranks: NDArray[np.int32]
    counts: NDArray[np.int32] | NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def lengths(self, title_weight: float = 1.0) -> NDArray[np.float64]:
        """Return the number of tokens (n,) of each document; a token of the title counts `title_weight` times."""
        if not len(self):
            return np.empty(0)
        counts = self.counts if title_weight == 1 else self.titled(title_weight)
        return np.add.reduceat(counts, self.starts[:-1], dtype=np.float64)

    def titled(self, title_weight: float) -> NDArray[np.float64]:
        """Return the counts (nnz,), with the counts of title words multiplied by `title_weight`."""
        counts = self.counts.astype(np.float64)
        return counts if title_weight == 1 else np.where(self.ranks == TITLE, title_weight * counts, counts)

    def take(self, rows: NDArray[np.int64]) -> "PartCounts":
        """Return only the documents `rows` (m,), in that order."""
        starts, entries = row_entries(self.starts, rows)
        return PartCounts(starts, self.words[entries], self.ranks[entries], self.counts[entries])

    def only(self, allowed: NDArray[np.bool_]) -> "PartCounts":
        """Return only the counts of `allowed` (v,) words; documents may become empty."""
        entries = np.flatnonzero(allowed[self.words])
        starts = np.searchsorted(entries, self.starts).astype(np.int64)
        return PartCounts(starts, self.words[entries], self.ranks[entries], self.counts[entries])


def document_frequencies(rows: PartCounts | Bags, words: int) -> NDArray[np.int64]:
    """Return the number of `rows` in which each of v = `words` words occurs (v,)."""
    return np.bincount(rows.words[run_heads(rows.starts, rows.words)], minlength=words).astype(np.int64)


def inverse_document_frequency(frequencies: NDArray[np.int64], documents: int) -> NDArray[np.float64]:
    """Return idf_i = ln((1 + N) / (1 + n_i)) + 1 (v,) for words found in n_i of N documents.

    `frequencies` (v,) are n_i, `documents` is N. This is the smoothed idf of scikit-learn's TfidfVectorizer. It is
    always positive, so that a document which has only common words keeps its mass.
    """
    idf: NDArray[np.float64] = np.log((1.0 + documents) / (1.0 + frequencies)) + 1.0
    return idf


@dataclass(frozen=True, slots=True, eq=False)
class Frequencies:
    """Document frequencies: each of the words `ids` (v,), increasing, occurs in `numbers` (v,) of all `documents`."""

    ids: NDArray[np.int64]
    numbers: NDArray[np.int64]
    documents: int

    def idf(self, word_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the idf (n,) of words by id; a word in no document gets the largest."""
        rows, present = lookup(word_ids, self.ids)
        numbers = np.zeros(len(word_ids), np.int64)
        numbers[present] = self.numbers[rows[present]]
        return inverse_document_frequency(numbers, self.documents)


def weigh(
    counts: PartCounts, gamma: float = 0.0, factors: NDArray[np.float64] | None = None, title_weight: float = 1.0
) -> Bags:
    """Return bags: `w_i ~ f_i * sum_p b_p c_pi` with b_p = (1 / (1 + r_p))^gamma (Trapp et al. 2017, eq. 3 and 4).

    `counts` are the c_pi with their ranks r_p. `gamma` >= 0 is the sensitivity to rank: 0 gives the plain WMD.
    `factors` (v,) > 0 are the f_i of words by id, such as idf; None: all 1. `title_weight` > 0 is the b_p of a title.
    Ranks are taken relative to the best rank of the document: the result is the same, and a large gamma does not
    underflow. Raises BagError for an empty row and for an invalid `gamma`.
    """
    bags = _normalised(Bags(*ranked_counts(counts, gamma, title_weight)))
    return bags if factors is None else with_factors(bags, factors)


def ranked_counts(
    counts: PartCounts, gamma: float, title_weight: float = 1.0
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return starts, words and amounts `sum_p b_p c_pi` > 0, each word of a document once; parameters as in `weigh`.

    With `gamma` 0 and `title_weight` 1 the amounts are the counts, summed over ranks. With a large gamma the amounts of
    late parts underflow to zero: these words are dropped. Raises BagError for an empty row and for an invalid `gamma`.
    """
    check_gamma(gamma)
    lengths = np.diff(counts.starts)
    amounts = counts.titled(title_weight)
    if not len(lengths):
        return counts.starts, counts.words, amounts
    if not np.all(lengths):
        raise BagError(f"document {int(np.argmin(lengths))} has no word: it has no bag")
    if gamma and np.any(counts.ranks > 0):
        ranks = np.maximum(counts.ranks, 0)  # a title counts as a part of rank 0
        best = np.repeat(np.minimum.reduceat(ranks, counts.starts[:-1]), lengths)
        amounts *= ((1.0 + best) / (1.0 + ranks)) ** gamma
    ranked = _drop_weightless(Bags(*_merge_ranks(counts, amounts)))
    return ranked.starts, ranked.words, ranked.weights


def with_factors(bags: Bags, factors: NDArray[np.float64]) -> Bags:
    """Multiply the weights of bags by the factors (v,) of their words, and scale each bag to a sum of 1."""
    weights = factors[bags.words]
    weights *= bags.weights
    return _drop_weightless(Bags(bags.starts, bags.words, _scaled(weights, bags.starts)))


def _normalised(bags: Bags) -> Bags:
    """Scale the weights of each bag to a sum of 1."""
    if not len(bags):
        return bags
    return _drop_weightless(Bags(bags.starts, bags.words, _scaled(bags.weights.copy(), bags.starts)))


def _scaled(weights: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Scale `weights` (t,) in place to a sum of 1 in each bag, and return them; bag i begins at `starts[i]`."""
    if not len(weights):
        return weights
    if len(weights) >= ENTRIES:
        check_time()
    weights /= np.repeat(np.add.reduceat(weights, starts[:-1]), np.diff(starts))
    return weights


def check_gamma(gamma: float) -> None:
    """Raise BagError if `gamma` is negative or not finite."""
    if not (np.isfinite(gamma) and gamma >= 0):
        raise BagError(f"gamma must be a number of 0 or more, not {gamma}")


def _merge_ranks(
    counts: PartCounts, amounts: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Sum the entries of each word of a document; return starts, words and sums."""
    first = run_heads(counts.starts, counts.words)
    if first.all():
        return counts.starts, counts.words, amounts
    heads = np.flatnonzero(first)
    starts = np.searchsorted(heads, counts.starts).astype(np.int64)
    return starts, counts.words[heads], np.add.reduceat(amounts, heads)


def _drop_weightless(bags: Bags) -> Bags:
    """Drop words whose weight underflowed to zero."""
    if np.all(bags.weights > 0):
        return bags
    kept = np.flatnonzero(bags.weights > 0)
    return Bags(np.searchsorted(kept, bags.starts).astype(np.int64), bags.words[kept], bags.weights[kept])


@dataclass(frozen=True, slots=True, eq=False)
class FactorBags:
    """Bags that are multiplied by factors of words only when they are taken, with the result of `with_factors`."""

    without: Bags
    """(n,) The bags without factors."""
    factors: NDArray[np.float64]
    """(v,) The factors of their words."""
    sums: NDArray[np.float64]
    """(n,) The sum of each bag's weights times factors."""

    @property
    def starts(self) -> NDArray[np.int64]:
        """Return where each bag begins (n + 1,)."""
        return self.without.starts

    @property
    def words(self) -> NDArray[np.int32]:
        """Return the words (nnz,) of all bags."""
        return self.without.words

    def __len__(self) -> int:
        return len(self.without)

    def __getitem__(self, index: int) -> Bag:
        return self.take(np.array([index], np.int64))[0]

    def take(self, rows: NDArray[np.int64]) -> Bags:
        """Return only the bags `rows` (m,), in that order, weighted."""
        return with_factors(self.without.take(rows), self.factors)

    def only(self, rows: NDArray[np.int64]) -> "FactorBags":
        """Return only the bags `rows` (m,), in that order, not yet weighted."""
        return FactorBags(self.without.take(rows), self.factors, self.sums[rows])

    def weighted(self) -> Bags:
        """Return all bags, weighted."""
        return with_factors(self.without, self.factors)
