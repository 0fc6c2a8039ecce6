"""Collections of counted texts, and the segments and queries that a search makes of them for scorers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.scorers import (
    Scorer,
    Statistics,
    TermCounts,
    TermQuery,
    WordVectors,
    choose_scorer,
    has_sums,
)

Counts = Mapping[str, float]
Vectors = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Counted:
    """A collection: texts as counts by term, and the vectors of known terms."""

    documents: Sequence[Counts]
    vectors: Vectors

    @cached_property
    def document_frequencies(self) -> dict[str, int]:
        """Return the number of documents with each term."""
        frequencies: dict[str, int] = {}
        for document in self.documents:
            for term in document:
                frequencies[term] = frequencies.get(term, 0) + 1
        return frequencies

    @cached_property
    def collection_frequencies(self) -> dict[str, float]:
        """Return the sum of the counts of each term."""
        frequencies: dict[str, float] = {}
        for document in self.documents:
            for term, count in document.items():
                frequencies[term] = frequencies.get(term, 0.0) + count
        return frequencies

    def word_vectors(self, terms: Sequence[str]) -> WordVectors:
        """Return the vectors of terms; a term without a vector is not known."""
        dim = len(next(iter(self.vectors.values()), np.zeros(1)))
        # The row of an unknown term must have no effect.
        rows = [self.vectors.get(term, np.full(dim, 0.5, np.float32)) for term in terms]
        return WordVectors(
            np.array(rows, np.float32).reshape(len(rows), dim),
            np.array([term in self.vectors for term in terms], bool),
        )

    def segment(self, rows: Iterable[int] | None = None, seed: int | None = None) -> "CountedSegment":
        """Return a segment of the documents `rows`, or of all, with their terms in the order of `seed`, or sorted."""
        selected = range(len(self.documents)) if rows is None else list(rows)
        terms = sorted({term for row in selected for term in self.documents[row]})
        if seed is not None:
            terms = [terms[i] for i in np.random.default_rng(seed).permutation(len(terms))]
        return CountedSegment(self, tuple(selected), tuple(terms))


@dataclass(frozen=True)
class CountedSegment:
    """Some documents of a collection, and their terms."""

    collection: Counted
    rows: tuple[int, ...]
    terms: tuple[str, ...]

    @cached_property
    def ids(self) -> dict[str, int]:
        """Return the id of each term."""
        return {term: i for i, term in enumerate(self.terms)}

    @cached_property
    def counts(self) -> TermCounts:
        """Return the counts of the documents."""
        rows = [
            sorted((self.ids[term], count) for term, count in self.collection.documents[row].items())
            for row in self.rows
        ]
        entries = [entry for row in rows for entry in row]
        return TermCounts(
            np.cumsum([0, *map(len, rows)], dtype=np.int64),
            np.array([term for term, _ in entries], np.int32),
            np.array([count for _, count in entries], np.float64),
            self.collection.word_vectors(self.terms),
        )

    @cached_property
    def statistics(self) -> Statistics:
        """Return the statistics of the whole collection for the terms."""
        whole = self.collection
        return Statistics(
            len(whole.documents),
            sum(whole.collection_frequencies.values()),
            np.array([whole.document_frequencies[term] for term in self.terms], np.int64),
            np.array([whole.collection_frequencies[term] for term in self.terms], np.float64),
        )

    def query(self, counts: Counts) -> TermQuery:
        """Return a query of counts by term."""
        terms, whole = list(counts), self.collection
        return TermQuery(
            np.array([self.ids.get(term, -1) for term in terms], np.int32),
            np.array([counts[term] for term in terms], np.float64),
            np.array([whole.document_frequencies.get(term, 0) for term in terms], np.int64),
            np.array([whole.collection_frequencies.get(term, 0.0) for term in terms], np.float64),
            whole.word_vectors(terms),
        )

    def fit(self, scorer: str | type[Scorer], options: Mapping[str, str]) -> Scorer:
        """Return a scorer, named or given as a class, that is fitted to the segment.

        A scorer with sums gets those over the vocabulary of the whole collection.
        """
        kind = choose_scorer(scorer, options) if isinstance(scorer, str) else scorer
        whole = sorted(self.collection.document_frequencies)
        if not has_sums(kind) or set(whole) == set(self.terms):
            return kind.fit(self.counts, self.statistics, options)
        sums = dict(zip(whole, kind.collection_sums(self.collection.word_vectors(whole)), strict=True))
        own = np.array([sums[term] for term in self.terms], np.float64)
        return kind.fit(self.counts, self.statistics, options, own)

    def score(self, scorer: str | type[Scorer], options: Mapping[str, str], query: Counts) -> NDArray[np.float64]:
        """Return the scores (n,) of the documents for a query."""
        return self.fit(scorer, options).score(self.query(query))
