"""Scores the documents of a snapshot and of its tail by word counts, with common statistics."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.caches import DerivedTable, cached_sums, cached_table
from moverank.indexer.search.ordering import smallest_first
from moverank.indexer.search.query import QueryTerms
from moverank.indexer.search.segment_words import CountedTerms, DerivedTerms, SegmentCounts, WordTexts
from moverank.indexer.search.segments import LiveSegment
from moverank.indexer.search.sized_cache import SizedCache
from moverank.indexer.values.ranking_spec import ScorerChoice
from moverank.rerank.bags.bag import Bags, lookup
from moverank.rerank.scorers import (
    Scorer,
    Statistics,
    SummingScorer,
    TermCounts,
    TermQuery,
    WordVectors,
    has_sums,
)
from moverank.rerank.scorers.bm25 import Bm25
from moverank.rerank.words.term_rules import terms_of


@dataclass(frozen=True, slots=True, eq=False)
class ScoredDocuments:
    """Documents' `ids` (n,) and `nearness` (n,): larger is nearer, and a distance is negated.

    `unrelated` is the nearness of a document that shares no word with the query; None if words are compared by
    meaning.
    """

    ids: NDArray[np.int64]
    nearness: NDArray[np.float64]
    unrelated: float | None

    def best(
        self, k: int, allowed: NDArray[np.int64] | None = None, without: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the ids and the nearness of the `k` best documents, best first, equal ones by id.

        Only `allowed` ids (None: all) except `without` are considered. Unrelated documents are excluded.
        """
        wanted = np.ones(len(self.ids), bool) if self.unrelated is None else self.nearness > self.unrelated
        if allowed is not None:
            wanted &= np.isin(self.ids, allowed)
        if without is not None:
            wanted &= self.ids != without
        rows = np.flatnonzero(wanted)
        if len(rows) > k:
            last = np.partition(self.nearness[rows], len(rows) - k)[len(rows) - k]
            rows = rows[self.nearness[rows] >= last]
        order, costs = smallest_first(-self.nearness[rows], self.ids[rows], k)
        return self.ids[rows[order]], -costs


class LargerCollection(Protocol):
    """Statistics of a collection that the documents of a view are part of."""

    def widened(self, own: Statistics, terms: Sequence[str], rule: str | None, gamma: float) -> Statistics:
        """Return the statistics of all terms (t,) of the documents, words or a rule's; `own` are the documents'."""
        ...

    def of_query(self, terms: Sequence[str], rule: str | None, gamma: float) -> Statistics | None:
        """Return the statistics of a query's terms (h,); None: the statistics of the documents' terms suffice."""
        ...

    @property
    def all_words(self) -> tuple[Sequence[str], NDArray[np.int64]] | None:
        """Return all words (v,), and in how many documents each occurs; None: they are not known."""
        ...


class TermScores:
    """Scores the documents of a view, `parts`; scorers are fitted on first use and cached.

    `documents` is the number of all documents, `texts` returns the words of ids. `frequencies` are the statistics of a
    larger collection that contains the documents, if there is one. `same` scores the same documents without it, and
    provides their counts.
    """

    def __init__(
        self,
        parts: Sequence[LiveSegment],
        documents: int,
        texts: WordTexts,
        frequencies: LargerCollection | None = None,
        same: "TermScores | None" = None,
    ) -> None:
        self._same = same
        self._parts, self._documents, self._texts = tuple(parts), documents, texts
        self._frequencies = frequencies
        self._names: Sequence[str] | None = None
        self._computed = SizedCache()  # derived terms, counts and scorers

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        """Return the ids (n,) of the scored documents: all live ones that have a word."""
        return np.concatenate([np.empty(0, np.int64), *(part.term_ids for part in self._parts)])

    def lengths(self) -> NDArray[np.float64]:
        """Return the numbers of words (n,) of the documents `ids` as they are counted, a title's by its weight."""
        return np.concatenate([np.empty(0), *(each.postings.lengths for each in self.counts(0.0, None).segments)])

    def known(self, words: Sequence[str], rule: str, gamma: float) -> set[str]:
        """Return the words with a term, by a rule, that a document has, also one of the larger collection."""
        terms = terms_of(words, rule)
        larger = self._frequencies.of_query(terms.texts, rule, gamma) if self._frequencies else None
        if larger is None:
            return self.derived(rule).known(words)
        return {words[row] for row in terms.words[larger.document_frequencies > 0].tolist()}

    @property
    def larger_words(self) -> tuple[Sequence[str], NDArray[np.int64]] | None:
        """Return the words of a larger collection, and in how many of its documents each occurs, if it has them."""
        return self._frequencies.all_words if self._frequencies else None

    def check(self) -> None:
        """Check the files of the counts; DamagedFile names a damaged one."""
        for part in self._parts:
            _ = part.segment.terms.counts

    def score(self, choice: ScorerChoice, gamma: float, query: QueryTerms) -> ScoredDocuments:
        """Score all documents for the words of `query` by the scorer `choice`, with parts weighted by `gamma`."""
        scorers = self._fitted(choice, gamma)
        sign = -1.0 if choice.kind.ascending else 1.0
        counted, query = self._compared(choice, gamma, query)
        larger = self._frequencies.of_query(query.texts, choice.rule, gamma) if self._frequencies else None
        statistics = counted.of_words(query.ids) if larger is None else larger
        scores = [
            scorer.score(
                TermQuery(
                    counted.positions(segment, query.ids),
                    query.counts,
                    statistics.document_frequencies,
                    statistics.collection_frequencies,
                    query.word_vectors if scorer.needs_vectors else None,
                )
            )
            for segment, scorer in enumerate(scorers)
        ]
        unrelated = scorers[0].unrelated if scorers else None
        nearness = sign * np.concatenate([np.empty(0), *scores])
        return ScoredDocuments(self.ids, nearness, None if unrelated is None else sign * unrelated)

    def same(self, choice: ScorerChoice, gamma: float, query: QueryTerms) -> NDArray[np.bool_]:
        """Return whether each document (n,) has exactly the words of `query`, as the scorer `choice` counts them.

        Such a document is the query itself, or a copy of it.
        """
        counted, query = self._compared(choice, gamma, query)
        rows = [
            counts.equal(counted.positions(segment, query.ids), query.counts)
            for segment, counts in enumerate(counted.segments)
        ]
        return np.concatenate([np.empty(0, bool), *rows])

    def _compared(self, choice: ScorerChoice, gamma: float, query: QueryTerms) -> tuple[CountedTerms, QueryTerms]:
        """Return the counts that a scorer compares, and the query over the same terms."""
        terms = self.derived(choice.rule).of_query(query) if choice.rule else query
        return self.counts(gamma, choice.rule), terms

    def document(self, id_: int, gamma: float) -> QueryTerms | None:
        """Return the words of a document as a query; None if it has none."""
        for part in self._parts:
            row, found = lookup(np.array([id_]), part.term_ids)
            if found.all():
                counts = part.term_counts(gamma, row)
                ids = part.segment.terms.word_ids[counts.terms]
                return QueryTerms(ids, counts.counts, part.some_word_vectors(counts.terms), tuple(self._texts(ids)))
        return None

    def every_document(self, gamma: float) -> tuple[TermCounts, Statistics]:
        """Return the counts of all words of the documents `ids`, with the words' vectors, and their statistics."""
        counted, parts = self.counts(gamma, None), list[Bags]()
        dim = self._parts[0].segment.vectors.shape[1] if self._parts else 0
        vectors, known = np.zeros((len(counted.word_ids), dim), np.float32), np.zeros(len(counted.word_ids), bool)
        for part, segment in zip(self._parts, counted.segments, strict=True):
            places, own, rows = np.searchsorted(counted.word_ids, segment.vocabulary), part.word_vectors, segment.rows
            vectors[places[own.known]], known[places[own.known]] = own.vectors[own.known], True
            parts.append(Bags(rows.starts, places[rows.terms].astype(np.int32), rows.counts))
        every = Bags.concatenated(parts)
        return TermCounts(every.starts, every.words, every.weights, WordVectors(vectors, known)), counted.statistics

    def derived(self, rule: str) -> DerivedTerms:
        """Return the terms that a rule makes of all words, which are read on first use."""
        if self._same:
            return self._same.derived(rule)
        return self._computed.get(rule, lambda: self._derived_of_parts(rule))

    def _derived_of_parts(self, rule: str) -> DerivedTerms:
        """Return the terms of the words of each part; words of the first part keep their terms there."""
        if not self._parts:
            return DerivedTerms(rule, DerivedTable.of(terms_of((), rule)))
        first, *rest = self._parts
        terms = DerivedTerms(rule, cached_table(first.directory, rule, first.segment.terms.word_ids, self._texts))
        for part in rest:
            places, shared = lookup(part.segment.terms.word_ids, first.segment.terms.word_ids)
            terms.add(places, shared, self._texts(part.segment.terms.word_ids[~shared]))
        return terms

    def counts(self, gamma: float, rule: str | None) -> CountedTerms:
        """Return the counts by word, or by the terms of a rule."""
        return self._computed.get((gamma, rule), lambda: self._counts(gamma, rule))

    def _counts(self, gamma: float, rule: str | None) -> CountedTerms:
        counted = self._same.counts(gamma, rule) if self._same else self._count(gamma, rule)
        if self._frequencies:
            names = self.derived(rule).names(counted.word_ids) if rule else self._words(counted.word_ids)
            statistics = self._frequencies.widened(counted.statistics, names, rule, gamma)
            counted = replace(counted, statistics=statistics)
        return counted

    def _count(self, gamma: float, rule: str | None) -> CountedTerms:
        segments = [self._segment(number, gamma, rule) for number in range(len(self._parts))]
        return CountedTerms.of(segments, self._documents)

    def _segment(self, number: int, gamma: float, rule: str | None) -> SegmentCounts:
        part = self._parts[number]
        vocabulary, derived = self.derived(rule).of_segment(number) if rule else (part.segment.terms.word_ids, None)
        cache = part.postings_cache(gamma, rule)
        return SegmentCounts(vocabulary, partial(part.term_counts, gamma), derived, cache, len(part.term_ids))

    def _words(self, ids: NDArray[np.int64]) -> Sequence[str]:
        """Return all words; their `ids` (t,) never change, so they are read once."""
        if self._names is None:
            self._names = self._texts(ids)
        return self._names

    def word_texts(self, ids: NDArray[np.int64]) -> Sequence[str]:
        """Return the words (n,) of ids (n,), from the database."""
        return self._texts(ids)

    def within(self, larger: LargerCollection) -> "TermScores":
        """Return an object that scores the same documents by the statistics of a larger collection."""
        return TermScores(self._parts, self._documents, self._texts, larger, self)

    def prepare(self, keys: Iterable[tuple[float, str | None]]) -> None:
        """Read the data that scores by some gammas and rules need."""
        for gamma, rule in keys:
            self.counts(gamma, rule)

    def frequencies(self, gamma: float, rule: str | None) -> tuple[Sequence[str], Statistics]:
        """Return all words, or all terms of a rule, and their statistics at `gamma`."""
        counted = self.counts(gamma, rule)
        ids = counted.word_ids
        return self.derived(rule).names(ids) if rule else self._texts(ids), counted.statistics

    def _fitted(self, choice: ScorerChoice, gamma: float) -> tuple[Scorer, ...]:
        """Return the scorer of each segment, fitted with the statistics of all segments."""

        def fit() -> tuple[Scorer, ...]:
            counted = self.counts(gamma, choice.rule)
            return tuple(self._fit(choice, segment, counted) for segment in range(len(self._parts)))

        return self._computed.get((choice, gamma), fit)

    def _fit(self, choice: ScorerChoice, segment: int, counted: CountedTerms) -> Scorer:
        scorer, options = choice.kind, dict(choice.options)
        part, own = self._parts[segment], counted.segments[segment]
        statistics = counted.of_words(own.vocabulary)
        if scorer is Bm25:
            return Bm25.of(own.postings, statistics, options)
        counts = own.rows
        if scorer.needs_vectors:
            counts = TermCounts(counts.starts, counts.terms, counts.counts, part.word_vectors)
        if has_sums(scorer):
            return scorer.fit(counts, statistics, options, self._sums(scorer, part, counted))
        return scorer.fit(counts, statistics, options)

    def _sums(self, scorer: type[SummingScorer], part: LiveSegment, counted: CountedTerms) -> NDArray[np.float64]:
        """Return the sums (t,) of a segment's terms over the words of all documents; see `SummingScorer`.

        Terms of words only in other segments are added to the cached sum, and terms of words in no live document are
        subtracted.
        """

        def over(others: WordVectors, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
            return scorer.collection_sums(words, WordVectors(others.vectors[chosen], others.known[chosen]))

        words, seen = part.word_vectors, part.segment.terms.word_ids
        alive = counted.of_words(seen).document_frequencies > 0
        sums = cached_sums(part.directory, scorer, words) - over(words, ~alive)
        for other in self._parts:
            if other is not part:
                ids = other.segment.terms.word_ids
                new = ~np.isin(ids, seen) & (counted.of_words(ids).document_frequencies > 0)
                sums += over(other.word_vectors, new)
                seen = np.union1d(seen, ids)
        return np.where(alive, sums, 1.0)
