"""The words of texts in memory by part, and their weights in a query: a text, or a record with ranked parts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.query import Query, QueryTerms, QueryWords
from moverank.indexer.search.spellings import Respelled
from moverank.indexer.snapshot.segment import packed_rows
from moverank.indexer.values.queries import QueryText, query_document
from moverank.indexer.values.ranked_texts import ranked_texts
from moverank.indexer.values.word_factors import WordFactors
from moverank.rerank.bags.weights import PartCounts, ranked_counts, weigh
from moverank.rerank.scorers import WordVectors
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.word_numbers import FewWords, NumberedText

RankedCounts = Sequence[tuple[int, NumberedText]]
"""The rank of each part of a document, and the counts of its words by number."""


class TextCounter:
    """Counts the words of documents in memory; words are numbered as they occur, and equal texts are split once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._numbers = FewWords(tokenizer)
        self._texts: dict[str, NumberedText] = {}

    @property
    def words(self) -> list[str]:
        """Return all words so far, by number."""
        return self._numbers.since(0)

    def count(self, documents: Iterable[QueryText]) -> list[RankedCounts]:
        """Count the words of texts or documents by part, as indexing counts them."""
        ranked = [ranked_texts(query_document(one)) for one in documents]
        new = list(dict.fromkeys(text for parts in ranked for _, text in parts if text not in self._texts))
        counted = chain.from_iterable(block.each() for block in self._numbers.number(new))
        self._texts.update(zip(new, counted, strict=True))
        return [[(rank, self._texts[text]) for rank, text in parts] for parts in ranked]

    def places(self, vocabulary: Iterable[str]) -> NDArray[np.int64]:
        """Return the positions (v,) of all words so far in a `vocabulary` that has them."""
        index = {word: place for place, word in enumerate(vocabulary)}
        return np.array([index[word] for word in self.words], np.int64)


def part_counts(documents: Sequence[RankedCounts], places: NDArray[np.int64]) -> PartCounts:
    """Return the counts of documents as rows, which may be empty; `places` (v,) are the new numbers of words."""
    parts = [(row, rank, len(numbers)) for row, document in enumerate(documents) for rank, (numbers, _) in document]
    row, rank, sizes = np.array(parts, np.int64).reshape(-1, 3).T
    numbers, counts = (
        np.concatenate([np.empty(0, np.int32), *(found[i] for document in documents for _, found in document)])
        for i in (0, 1)
    )
    ranks = np.repeat(rank, sizes).astype(np.int32)
    return packed_rows(np.repeat(row, sizes), places[numbers].astype(np.int32), ranks, counts, len(documents))


def respelled_counts(counts: PartCounts, vocabulary: Sequence[str], respelled: Respelled) -> PartCounts:
    """Return the counts of one document with shares of the count of each misspelt word for its spellings, float64.

    Words are positions in the increasing `vocabulary`, which has the misspelt words and the spellings.
    """
    if not respelled:
        return counts
    index = {word: place for place, word in enumerate(vocabulary)}
    shares = dict[tuple[int, int], float]()
    for place, rank, count in zip(counts.words.tolist(), counts.ranks.tolist(), counts.counts.tolist(), strict=True):
        for spelling, share in respelled.get(vocabulary[place], {vocabulary[place]: 1.0}).items():
            entry = index[spelling], rank
            shares[entry] = shares.get(entry, 0.0) + share * count
    words, ranks = np.array(sorted(shares), np.int32).reshape(-1, 2).T
    amounts = np.array([shares[entry] for entry in sorted(shares)])
    return PartCounts(np.array([0, len(words)], np.int64), words, ranks, amounts)


@dataclass(frozen=True, slots=True, eq=False)
class CountedQuery:
    """A query's words, with their vectors and counts by part."""

    texts: tuple[str, ...]  # (h,)
    ids: NDArray[np.int64]  # (h,) in the store; 0: in no document
    vectors: WordVectors
    counts: PartCounts  # one row, of indices into these words
    title_weight: float  # how many times the words of a title count

    def weighted(self, query: Query, factors: WordFactors) -> QueryWords:
        """Return the words, weighted as documents are for the ranking of `query`; `factors` are the documents'."""
        terms = {gamma: self._terms(gamma) for gamma in query.gammas_of_scorers} if self.texts else {}
        known = self.counts.only(self.vectors.known)
        if not len(known.words):
            return replace(QueryWords.none(self.vectors.vectors.shape[1]), all_texts=self.texts, terms=terms)
        own = factors.of(query.ranking.weights, self.ids, self.texts)
        bag = weigh(known, query.ranking.gamma, own, self.title_weight)[0]
        names = tuple(self.texts[word] for word in bag.words.tolist())
        length = float(known.lengths(self.title_weight)[0])
        vectors = self.vectors.vectors[bag.words]
        return QueryWords(names, self.ids[bag.words], bag.weights, vectors, length, self.texts, terms)

    def _terms(self, gamma: float) -> QueryTerms:
        """Return the words whose amounts by `gamma` are above 0, with these amounts."""
        _, words, amounts = ranked_counts(self.counts, gamma, self.title_weight)
        vectors = WordVectors(self.vectors.vectors[words], self.vectors.known[words])
        return QueryTerms(self.ids[words], amounts, vectors, tuple(self.texts[word] for word in words.tolist()))
