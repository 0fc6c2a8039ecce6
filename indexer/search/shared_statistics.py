"""Statistics of a collection in shards: each shard ranks by the statistics of all documents, not only of its own."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.view import View
from moverank.indexer.values.ranking_spec import RankingSpec, ScorerChoice
from moverank.rerank.bags.weights import Frequencies, inverse_document_frequency
from moverank.rerank.scorers import Statistics

TableKey = tuple[float, str | None]
"""The gamma that weighs parts, and the rule whose terms are counted, None for words."""

WORDS: TableKey = (0.0, None)


@dataclass(frozen=True, eq=False)
class TermTable:
    """In how many documents each of `terms` (t,) occurs, how often in all, and the number of all `tokens`."""

    terms: Sequence[str]
    document_frequencies: NDArray[np.int64]
    collection_frequencies: NDArray[np.float64]
    tokens: float

    @classmethod
    def of(cls, terms: Sequence[str], statistics: Statistics) -> "TermTable":
        """Return the table of one collection; terms in no document are left out."""
        used = np.flatnonzero(statistics.document_frequencies)
        frequencies, amounts = statistics.document_frequencies[used], statistics.collection_frequencies[used]
        return cls([terms[row] for row in used.tolist()], frequencies, amounts, statistics.tokens)

    @classmethod
    def merged(cls, tables: Iterable["TermTable"]) -> "TermTable":
        """Return the table of several collections together."""
        rows: dict[str, int] = {}
        places, frequencies, amounts, tokens = [], [np.empty(0, np.int64)], [np.empty(0)], 0.0
        for table in tables:
            places.append(np.array([rows.setdefault(term, len(rows)) for term in table.terms], np.int64))
            frequencies.append(table.document_frequencies)
            amounts.append(table.collection_frequencies)
            tokens += table.tokens
        where = np.concatenate([np.empty(0, np.int64), *places])
        total = np.zeros(len(rows), np.int64)
        np.add.at(total, where, np.concatenate(frequencies))
        sums = np.bincount(where, np.concatenate(amounts), len(rows)).astype(np.float64, copy=False)
        return cls(list(rows), total, sums, tokens)

    @cached_property
    def _rows(self) -> Mapping[str, int]:
        return {term: row for row, term in enumerate(self.terms)}

    def of_terms(self, terms: Sequence[str], documents: int) -> Statistics:
        """Return the statistics of some terms (n,): zeros for terms in no document."""
        rows = np.fromiter(map(self._rows.get, terms, repeat(-1)), np.int64, len(terms))
        frequencies = np.append(self.document_frequencies, 0)[rows]
        return Statistics(documents, self.tokens, frequencies, np.append(self.collection_frequencies, 0.0)[rows])


@dataclass(frozen=True, eq=False)
class SharedStatistics:
    """The number of `documents` of all shards, the `tables` of their terms, and the names of their `fields`."""

    documents: int
    tables: Mapping[TableKey, TermTable]
    fields: frozenset[str] = frozenset()

    def widened(self, _own: Statistics, terms: Sequence[str], rule: str | None, gamma: float) -> Statistics:
        """Return the cluster-wide statistics of the complete term list `terms` (t,) of one shard."""
        return self.tables[gamma, rule].of_terms(terms, self.documents)

    def of_query(self, terms: Sequence[str], rule: str | None, gamma: float) -> Statistics:
        """Return the statistics of the terms of a query, which a shard may lack."""
        return self.tables[gamma, rule].of_terms(terms, self.documents)

    @property
    def all_words(self) -> tuple[Sequence[str], NDArray[np.int64]]:
        """Return all words (v,) of all shards, and in how many documents each occurs."""
        return self.tables[WORDS].terms, self.tables[WORDS].document_frequencies

    def idf(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return the idf (n,) of words; one in no document gets the largest."""
        counted = self.tables[WORDS].of_terms(words, self.documents)
        return inverse_document_frequency(counted.document_frequencies, self.documents)


def needed_tables(ranking: RankingSpec, joined: ScorerChoice | None) -> set[TableKey]:
    """Return the tables that searches by a ranking need; `joined`: a scorer that also chooses candidates, by bags.

    Where words are counted, the tables have the words of all shards: a query's misspelt words become some of these.
    """
    needed = {(term.gamma or 0.0, term.scorer.rule) for term in ranking.scorers if term.scorer}
    if ranking.weights == "tfidf" or ranking.counted:
        needed.add(WORDS)
    if joined:
        needed.add((ranking.gamma, joined.rule))
    return needed


def counted_terms(view: View, keys: Iterable[TableKey]) -> dict[TableKey, TermTable]:
    """Return tables of the documents of a view."""
    return {(gamma, rule): TermTable.of(*view.scores.frequencies(gamma, rule)) for gamma, rule in keys}


def with_statistics(view: View, shared: SharedStatistics, shard: str) -> View:
    """Return the view of a `shard` of the same documents that ranks by the statistics of all shards.

    The database is read here, not by later searches.
    """
    own = Frequencies(np.empty(0, np.int64), np.empty(0, np.int64), shared.documents)
    if WORDS in shared.tables:
        ids = np.unique(np.concatenate([np.empty(0, np.int64), *(part.segment.word_ids for part in view.segments)]))
        counted = shared.tables[WORDS].of_terms(view.scores.word_texts(ids), shared.documents)
        own = Frequencies(ids, counted.document_frequencies, shared.documents)

    def idf(word_ids: NDArray[np.int64], texts: Sequence[str] | None) -> NDArray[np.float64]:
        return own.idf(word_ids) if texts is None else shared.idf(texts)  # this shard may lack words of a query

    factors = replace(view.factors, idf=idf)
    segments = tuple(part.with_idf(factors) for part in view.segments)
    scores = view.scores.within(shared)
    scores.prepare(shared.tables)
    changed = replace(view, segments=segments, factors=factors, scores=scores, shard=shard)
    return replace(changed, computed=view.computed.emptied())
