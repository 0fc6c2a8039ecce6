"""Ranking by word counts: scorers over the terms of a snapshot and its tail, with the statistics of both."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.ranking_spec import ScorerChoice
from moverank.indexer.snapshot.segment import Segment, Terms
from moverank.indexer.snapshot.translation_cache import cached_normalisers
from moverank.rerank.bags.weights import ranked_counts
from moverank.rerank.scorers import (
    SCORERS,
    Scorer,
    Statistics,
    TermCounts,
    TermQuery,
    WordVectors,
    translation_normalisers,
)
from moverank.rerank.scorers.translation import Translation


@dataclass(frozen=True, slots=True, eq=False)
class QueryTerms:
    """All words of a query: ids in the store (h,) int64 (0: no document ever had it), and counts (h,) > 0.

    `word_vectors` are theirs, where they have one.
    """

    ids: NDArray[np.int64]
    counts: NDArray[np.float64]
    word_vectors: WordVectors


class LiveTerms:
    """Documents by their words, without those whose ids (m,) are `gone`; `segment` has the words' vectors.

    `place` is the collection's directory, where what takes long to compute is kept; None for the tail.
    """

    def __init__(self, terms: Terms, gone: NDArray[np.int64], segment: Segment, place: Path | None = None) -> None:
        self.terms, self.segment, self.place = terms, segment, place
        self._gone = gone

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Return the rows (n,) that still stand for a document."""
        return np.flatnonzero(~np.isin(self.terms.ids, self._gone))

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        """Return the ids (n,) of these documents."""
        return self.terms.ids[self.rows]

    @cached_property
    def word_vectors(self) -> WordVectors:
        """Return the vectors of the terms."""
        return self.some_word_vectors(np.arange(len(self.terms.word_ids), dtype=np.int32))

    def some_word_vectors(self, terms: NDArray[np.int32]) -> WordVectors:
        """Return the vectors of some terms (h,)."""
        ids, known = self.terms.word_ids[terms], self.segment.word_ids
        there = np.isin(ids, known)
        vectors = np.zeros((len(terms), self.segment.vectors.shape[1]), np.float32)
        vectors[there] = self.segment.vectors[np.searchsorted(known, ids[there])]
        return WordVectors(vectors, there)

    def counted(self, gamma: float) -> TermCounts:
        """Return the counts of the documents, each part's weighed by its rank."""
        counts = self.terms.counts if len(self.rows) == len(self.terms.ids) else self.terms.counts.take(self.rows)
        starts, terms, amounts = ranked_counts(counts, gamma)
        if np.all(amounts > 0):
            return TermCounts(starts, terms, amounts)
        # A large gamma lets the words of late parts fall to zero.
        kept = np.flatnonzero(amounts > 0)
        return TermCounts(np.searchsorted(kept, starts).astype(np.int64), terms[kept], amounts[kept])

    def query(self, asked: QueryTerms) -> NDArray[np.int32]:
        """Return the places (h,) that a query's words have among the terms, -1 for others."""
        places = np.searchsorted(self.terms.word_ids, asked.ids)
        return np.where(np.isin(asked.ids, self.terms.word_ids), places, -1).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """The counts of each segment at one gamma, and of every word of the collection, by `word_ids` (t,), increasing."""

    counts: tuple[TermCounts, ...]
    word_ids: NDArray[np.int64]
    statistics: Statistics

    @classmethod
    def of(cls, parts: Sequence[LiveTerms], documents: int, gamma: float) -> "_Counted":
        counts = tuple(part.counted(gamma) for part in parts)
        vocabularies = [part.terms.word_ids for part in parts]
        word_ids = reduce(np.union1d, vocabularies) if parts else np.empty(0, np.int64)
        frequencies, amounts = np.zeros(len(word_ids), np.int64), np.zeros(len(word_ids))
        for own, vocabulary in zip(counts, vocabularies, strict=True):
            places = np.searchsorted(word_ids, vocabulary)
            frequencies[places] += np.bincount(own.terms, minlength=len(vocabulary))
            amounts[places] += np.bincount(own.terms, own.counts, len(vocabulary))
        return cls(counts, word_ids, Statistics(documents, float(amounts.sum()), frequencies, amounts))

    def of_words(self, ids: NDArray[np.int64]) -> Statistics:
        """Return the statistics of words by id, zeros for those that no document has."""
        whole = self.statistics
        places = np.searchsorted(self.word_ids, ids)
        there = np.isin(ids, self.word_ids)
        frequencies, amounts = np.zeros(len(ids), np.int64), np.zeros(len(ids))
        frequencies[there] = whole.document_frequencies[places[there]]
        amounts[there] = whole.collection_frequencies[places[there]]
        return Statistics(whole.documents, whole.tokens, frequencies, amounts)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredDocuments:
    """Documents' `ids` (n,) and `nearness` (n,), larger being nearer: a distance comes with its sign turned.

    `unrelated` is what a document has that shares no word with the query, None where words are compared by meaning.
    """

    ids: NDArray[np.int64]
    nearness: NDArray[np.float64]
    unrelated: float | None

    def best(
        self, k: int, allowed: NDArray[np.int64] | None = None, without: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the ids and the nearness of the k best documents, best first, equal ones in the order of ids.

        Only ids that are `allowed` are looked at, and not the one that is `without`. Documents that have nothing to do
        with the query are no hits.
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
        order = rows[np.lexsort((self.ids[rows], -self.nearness[rows]))][:k]
        return self.ids[order], self.nearness[order]

    def of(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the nearness (m,) of documents (m,), all of which are there."""
        order = np.argsort(self.ids)
        found: NDArray[np.float64] = self.nearness[order[np.searchsorted(self.ids, ids, sorter=order)]]
        return found


class TermScores:
    """Scores the documents of a view; what a scorer needs is made when it is asked for first, and kept."""

    def __init__(self, parts: Sequence[LiveTerms], documents: int, dim: int) -> None:
        self._parts, self._documents, self._dim = tuple(parts), documents, dim
        self._counted: dict[float, _Counted] = {}
        self._scorers: dict[tuple[ScorerChoice, float], tuple[Scorer, ...]] = {}

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        """Return the ids (n,) of the documents that are scored: all that have a word."""
        return np.concatenate([np.empty(0, np.int64), *(part.ids for part in self._parts)])

    def check(self) -> None:
        """Look through the files behind it; DamagedFile names one that is not what was written."""
        for part in self._parts:
            _ = part.terms.counts

    def score(self, choice: ScorerChoice, gamma: float, query: QueryTerms) -> ScoredDocuments:
        """Score all documents for a query."""
        scorers = self._fitted(choice, gamma)
        sign = -1.0 if SCORERS[choice.name].ascending else 1.0
        statistics = self._counts(gamma).of_words(query.ids)
        found = [
            scorer.score(
                TermQuery(
                    part.query(query),
                    query.counts,
                    statistics.document_frequencies,
                    statistics.collection_frequencies,
                    query.word_vectors if scorer.needs_vectors else None,
                )
            )
            for part, scorer in zip(self._parts, scorers, strict=True)
        ]
        unrelated = scorers[0].unrelated if scorers else None
        nearness = sign * np.concatenate([np.empty(0), *found])
        return ScoredDocuments(self.ids, nearness, None if unrelated is None else sign * unrelated)

    def document(self, id_: int, gamma: float) -> QueryTerms | None:
        """Return the words of a document as a query, None where it has none."""
        for part, counts in zip(self._parts, self._counts(gamma).counts, strict=True):
            row = int(np.searchsorted(part.ids, id_))
            if row < len(part.ids) and part.ids[row] == id_:
                entries = slice(counts.starts[row], counts.starts[row + 1])
                terms = counts.terms[entries]
                return QueryTerms(part.terms.word_ids[terms], counts.counts[entries], part.some_word_vectors(terms))
        return None

    def _counts(self, gamma: float) -> _Counted:
        if gamma not in self._counted:
            self._counted = {gamma: _Counted.of(self._parts, self._documents, gamma)}
        return self._counted[gamma]

    def _fitted(self, choice: ScorerChoice, gamma: float) -> tuple[Scorer, ...]:
        """Return the scorer of each segment, fitted with the statistics of all."""
        if (choice, gamma) not in self._scorers:
            counted = self._counts(gamma)
            self._scorers[choice, gamma] = tuple(
                self._fit(choice, part, counts, counted)
                for part, counts in zip(self._parts, counted.counts, strict=True)
            )
        return self._scorers[choice, gamma]

    def _fit(self, choice: ScorerChoice, part: LiveTerms, counts: TermCounts, counted: _Counted) -> Scorer:
        scorer, options = SCORERS[choice.name], dict(choice.options)
        statistics = counted.of_words(part.terms.word_ids)
        if scorer.needs_vectors:
            counts = TermCounts(counts.starts, counts.terms, counts.counts, part.word_vectors)
        if scorer is Translation:
            return Translation.fit(counts, statistics, options, self._normalisers(part, counted))
        return scorer.fit(counts, statistics, options)

    def _normalisers(self, part: LiveTerms, counted: _Counted) -> NDArray[np.float64]:
        """Return Z (t,) of a segment's terms over the words that documents have; see `translation_normalisers`.

        It is a sum over words: those of other segments are added to what is kept, those without a document taken off.
        """
        words, seen = part.word_vectors, part.terms.word_ids
        alive = counted.of_words(seen).document_frequencies > 0
        sums = cached_normalisers(part.place, words) - _sums(words, words, ~alive)
        for other in self._parts:
            if other is not part:
                ids = other.terms.word_ids
                new = ~np.isin(ids, seen) & (counted.of_words(ids).document_frequencies > 0)
                sums += _sums(words, other.word_vectors, new)
                seen = np.union1d(seen, ids)
        return np.where(alive, sums, 1.0)


def _sums(words: WordVectors, others: WordVectors, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the normalisers of words over some of the others."""
    vocabulary = WordVectors(others.vectors[chosen], others.known[chosen])
    return translation_normalisers(words.vectors, words.known, vocabulary)
