"""The words of a query by part, and their weights: a text, and a record with a title and ranked parts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.ranked_texts import QueryText, as_document, ranked_texts
from moverank.indexer.search.live_segment import Frequencies
from moverank.indexer.search.query import Query, QueryTerms, QueryWords
from moverank.rerank.bags.weights import PartCounts, ranked_counts, weigh
from moverank.rerank.scorers import WordVectors
from moverank.rerank.words.tokenizer import Tokenizer

RankedWords = Mapping[tuple[str, int], int]
"""The counts of words by word and rank; see `PartCounts`."""


def ranked_words(tokenizer: Tokenizer, query: QueryText) -> RankedWords:
    """Count the words of a query in each of its ranks, as those of a document are counted when it is stored."""
    found = Counter[tuple[str, int]]()
    for rank, text in ranked_texts(as_document(query)):
        for word, count in tokenizer.count(text).items():
            found[word, rank] += count
    return found


def part_counts(queries: Sequence[RankedWords], index: Mapping[str, int]) -> PartCounts:
    """Return the counts of queries as rows; `index` has the index of each word."""
    rows = [sorted((index[word], rank, count) for (word, rank), count in each.items()) for each in queries]
    entries = np.array([entry for row in rows for entry in row], np.int32).reshape(-1, 3)
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return PartCounts(starts, *(np.ascontiguousarray(column) for column in entries.T))


@dataclass(frozen=True, slots=True, eq=False)
class CountedQuery:
    """A query's words: texts (h,), ids in the store (h,) int64 (0: in no document), vectors, and counts by part.

    `counts` has one row, of indices into these words. The words of a title count `title_weight` times.
    """

    texts: tuple[str, ...]
    ids: NDArray[np.int64]
    vectors: WordVectors
    counts: PartCounts
    title_weight: float

    def weighted(self, query: Query, frequencies: Frequencies | None) -> QueryWords:
        """Return the words, weighted as documents are for the ranking of `query`; `frequencies` are those for idf."""
        terms = {gamma: self._terms(gamma) for gamma in query.gammas_of_scorers} if self.texts else {}
        known = self._known()
        if not len(known.words):
            return replace(QueryWords.none(self.vectors.vectors.shape[1]), all_texts=self.texts, terms=terms)
        idf = None if frequencies is None else frequencies.idf_of_query(self.ids, self.texts)
        bag = weigh(known, query.ranking.gamma, idf, self.title_weight)[0]
        names = tuple(self.texts[word] for word in bag.words.tolist())
        length = float(known.lengths(self.title_weight)[0])
        vectors = self.vectors.vectors[bag.words]
        return QueryWords(names, self.ids[bag.words], bag.weights, vectors, length, self.texts, terms)

    def _known(self) -> PartCounts:
        """Return the counts of the words with a vector; the row may be empty."""
        counts = self.counts
        entries = self.vectors.known[counts.words]
        starts = np.array([0, np.count_nonzero(entries)], np.int64)
        return PartCounts(starts, counts.words[entries], counts.ranks[entries], counts.counts[entries])

    def _terms(self, gamma: float) -> QueryTerms:
        """Return all words with their amounts by `gamma`; those whose amount is 0 are left out."""
        _, words, amounts = ranked_counts(self.counts, gamma, self.title_weight)
        vectors = WordVectors(self.vectors.vectors[words], self.vectors.known[words])
        return QueryTerms(self.ids[words], amounts, vectors, tuple(self.texts[word] for word in words.tolist()))
