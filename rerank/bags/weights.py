"""Word counts of ranked parts, and the weights made of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bags, row_entries
from moverank.rerank.errors import BagError


@dataclass(frozen=True, slots=True, eq=False)
class PartCounts:
    """Word counts of documents with ranked parts, as compressed sparse rows.

    Document i is the slice `starts[i]:starts[i + 1]` of `words`, `ranks` and `counts` (nnz,) int32: the word occurs so
    often in the part of that rank. Within a document the entries are sorted by word; a word stands once for each rank.
    """

    starts: NDArray[np.int64]
    words: NDArray[np.int32]
    ranks: NDArray[np.int32]
    counts: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def lengths(self) -> NDArray[np.float64]:
        """Return how many tokens (n,) each document has."""
        if not len(self):
            return np.empty(0)
        return np.add.reduceat(self.counts, self.starts[:-1]).astype(np.float64)

    def take(self, rows: NDArray[np.int64]) -> "PartCounts":
        """Return the documents `rows` (m,) only, in that order."""
        starts, places = row_entries(self.starts, rows)
        return PartCounts(starts, self.words[places], self.ranks[places], self.counts[places])


def inverse_document_frequency(frequencies: NDArray[np.int64], documents: int) -> NDArray[np.float64]:
    """Return idf_i = ln((1 + N) / (1 + n_i)) + 1 for words found in n_i of N documents: always positive.

    The smoothed form of scikit-learn's TfidfVectorizer: no word, however common, may lose all its mass, or a document
    made of common words would have none.
    """
    idf: NDArray[np.float64] = np.log((1.0 + documents) / (1.0 + frequencies)) + 1.0
    return idf


def weigh(counts: PartCounts, gamma: float = 0.0, idf: NDArray[np.float64] | None = None) -> Bags:
    """Make bags: `w_i ~ idf_i * sum_p b_p c_pi` with b_p = (1 / (1 + r_p))^gamma (Trapp et al. 2017, eq. 3 and 4).

    `gamma` >= 0 is the sensitivity to rank: 0 gives the plain WMD. `idf` (v,) is indexed by word id. Ranks are taken
    relative to each document's best, which changes nothing in the result and keeps a large gamma from losing all.
    A document whose row is empty raises BagError.
    """
    bags = _normalised(Bags(*ranked_counts(counts, gamma)))
    return bags if idf is None else with_idf(bags, idf)


def ranked_counts(counts: PartCounts, gamma: float) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return starts, words and amounts `sum_p b_p c_pi`, each word of a document once: the counts, where gamma is 0.

    See `weigh`, whose weights are these brought to a sum of 1. An empty row raises BagError.
    """
    check_gamma(gamma)
    lengths = np.diff(counts.starts)
    amounts = counts.counts.astype(np.float64)
    if not len(lengths):
        return counts.starts, counts.words, amounts
    if not np.all(lengths):
        raise BagError(f"document {int(np.argmin(lengths))} has no word: it has no bag")
    if gamma and counts.ranks.any():
        best = np.repeat(np.minimum.reduceat(counts.ranks, counts.starts[:-1]), lengths)
        amounts *= ((1.0 + best) / (1.0 + counts.ranks)) ** gamma
    return _merge_ranks(counts, amounts)


def with_idf(bags: Bags, idf: NDArray[np.float64]) -> Bags:
    """Multiply the weights of bags by the idf (v,) of their words, and let each sum to 1 again."""
    return _normalised(Bags(bags.starts, bags.words, bags.weights * idf[bags.words]))


def _normalised(bags: Bags) -> Bags:
    """Let the weights of each bag sum to 1."""
    if not len(bags):
        return bags
    sums = np.add.reduceat(bags.weights, bags.starts[:-1])
    return _drop_weightless(Bags(bags.starts, bags.words, bags.weights / np.repeat(sums, np.diff(bags.starts))))


def check_gamma(gamma: float) -> None:
    """Refuse a sensitivity that is negative or no number."""
    if not (np.isfinite(gamma) and gamma >= 0):
        raise BagError(f"gamma must be a number of 0 or more, not {gamma}")


def _merge_ranks(
    counts: PartCounts, amounts: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Add up the entries of one word of one document."""
    first = np.ones(len(counts.words), bool)
    first[1:] = counts.words[1:] != counts.words[:-1]
    first[counts.starts[:-1]] = True
    if first.all():
        return counts.starts, counts.words, amounts
    heads = np.flatnonzero(first)
    starts = np.searchsorted(heads, counts.starts).astype(np.int64)
    return starts, counts.words[heads], np.add.reduceat(amounts, heads)


def _drop_weightless(bags: Bags) -> Bags:
    """Leave out words whose weight fell to zero in floating point: a bag's weights are positive."""
    if np.all(bags.weights > 0):
        return bags
    kept = np.flatnonzero(bags.weights > 0)
    return Bags(np.searchsorted(kept, bags.starts).astype(np.int64), bags.words[kept], bags.weights[kept])
