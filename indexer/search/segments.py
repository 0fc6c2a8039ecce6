"""The documents of a snapshot, or of the changes after it, that a search uses, with their weights and counts."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.arrays import SumType, kept
from moverank.indexer.files.checksums import checksum
from moverank.indexer.files.directory import CACHED
from moverank.indexer.search.caches import PostingsCache
from moverank.indexer.snapshot.document_vectors import GivenRows
from moverank.indexer.snapshot.faiss_index import FirstStage
from moverank.indexer.snapshot.segment import Segment
from moverank.indexer.values.ranking_spec import Weights
from moverank.indexer.values.word_factors import OfWords, WordFactors
from moverank.rerank.bags.bag import Bags, lookup, summed_by_id
from moverank.rerank.bags.weights import (
    ENTRIES,
    FactorBags,
    Frequencies,
    PartCounts,
    document_frequencies,
    ranked_counts,
    weigh,
    with_factors,
)
from moverank.rerank.distance.bounds import factor_bags
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.encoders.encoder import Documents, Encoder
from moverank.rerank.scorers import TermCounts, WordVectors


@dataclass(eq=False)
class LiveSegment:
    """The documents of a `segment`, except documents that have changed or were removed, the ids `gone` (m,).

    Only the segment of a snapshot has a first stage and stored bags.
    """

    segment: Segment
    gone: NDArray[np.int64]
    factors: WordFactors  # the view's
    title_weight: float  # the collection's
    given: GivenRows | None = None  # given vectors for the first stage
    first_stage: FirstStage | None = None
    stored_gamma: float | None = None  # the gamma of the stored bags
    stored_bags: Callable[[], Bags] | None = None  # bags without factors
    directory: Path | None = None  # the collection's, in which results for all rows are cached
    _bags: dict[tuple[float, Weights], Bags] = field(default_factory=dict)
    _encoded: NDArray[np.float32] | None = None
    _factors: dict[Weights, NDArray[np.float64] | None] = field(default_factory=dict)
    _factor_bags: dict[Weights, FactorBags] = field(default_factory=dict)

    def with_idf(self, factors: WordFactors) -> "LiveSegment":
        """Return the same rows by factors with another idf; cached results that do not depend on idf stay."""
        bags = {key: bags for key, bags in self._bags.items() if key[1] != "tfidf"}
        others, weighted = ({**kept} for kept in (self._factors, self._factor_bags))
        others.pop("tfidf", None)
        weighted.pop("tfidf", None)
        changed = copy(self)
        vars(changed).update(factors=factors, _bags=bags, _factors=others, _factor_bags=weighted)
        return changed

    @cached_property
    def live(self) -> NDArray[np.bool_]:
        """Return which rows (n,) still represent a document."""
        return ~np.isin(self.segment.ids, self.gone)

    @cached_property
    def norms(self) -> NDArray[np.float32]:
        """Return the lengths (v,) of the word vectors."""
        return vector_norms(self.segment.vectors)

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Return the number of tokens with a vector (n,) of each document, tokens of titles counted once."""
        return self.kept_sums("tokens", lambda: self.segment.counts.lengths(1.0), len(self.live), np.float64)

    def factors_of_words(self, weights: Weights) -> NDArray[np.float64] | None:
        """Return the factor (v,) of each word of the segment; None: all are 1."""
        if weights not in self._factors:
            self._factors[weights] = self.factors.of(weights, self.segment.word_ids)
        return self._factors[weights]

    def frequencies_of_words(self) -> NDArray[np.int64]:
        """Return in how many live rows each word (v,) of the segment occurs."""
        words, gone = len(self.segment.word_ids), np.flatnonzero(~self.live)

        def rows() -> Bags | PartCounts:
            # Bags have all words only at gamma 0; they are loaded anyway, unlike the counts.
            return self.segment.counts if self.stored_bags is None or self.stored_gamma else self.stored_bags()

        every = self.kept_sums("frequencies", lambda: document_frequencies(rows(), words), words, np.int64)
        return every - document_frequencies(rows().take(gone), words) if len(gone) else every

    def kept_sums(
        self, name: str, compute: Callable[[], NDArray[SumType]], size: int, kind: type[SumType], of: str = ""
    ) -> NDArray[SumType]:
        """Return the result (size,) of `compute` for all rows, kept under a `name`; `of` identifies other inputs."""
        if self.directory is None:
            return compute()
        return kept(self.directory / f"{CACHED}{name}", f"{self.segment.state} {of}".rstrip(), compute, size, kind)

    def encoded(self, encoder: Encoder, rows: NDArray[np.int64], gamma: float, weights: Weights) -> NDArray[np.float32]:
        """Return the vectors (m, dim) by `encoder` of `rows` (m,), whose bags are weighted by `gamma` and `weights`.

        Without an index, the vectors of all rows are computed at once and cached: every search needs them.
        """
        if self.first_stage is not None:
            return encoder.encode(self.documents(rows, gamma, weights))
        if self._encoded is None:
            self._encoded = encoder.encode(self.documents(np.arange(len(self.segment.ids)), gamma, weights))
        return self._encoded[rows]

    def documents(self, rows: NDArray[np.int64], gamma: float, weights: Weights) -> Documents:
        """Return an encoder's input for `rows` (m,), whose bags are weighted by `gamma` and `weights`."""
        own = self.segment
        return Documents(self.bags(rows, gamma, weights), self.tokens(rows), own.word_ids, own.vectors)

    def tokens(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the number of tokens with a vector (m,) of the documents `rows` (m,), as bags count titles."""
        return self.segment.counts.take(rows).lengths(self.title_weight)

    def bags(self, rows: NDArray[np.int64], gamma: float, weights: Weights) -> Bags:
        """Return the bags of `rows` (m,); if these are many, the bags of all rows are computed and cached.

        `gamma` and `weights` determine the weights of words.
        """
        key = gamma, weights
        bags = self._bags.get(key)
        if bags is None and self._are_few(rows):
            return self._weighted(gamma, weights, rows)
        if bags is None:
            bags = self._weighted(gamma, weights)
            self._bags = {key: bags}
        return bags if len(rows) == len(bags) else bags.take(rows)

    def bags_of_most(self, rows: NDArray[np.int64], gamma: float, weights: Weights) -> Bags | FactorBags:
        """Return the bags of `rows` (m,) for a search that prunes most of them: factors are applied where needed."""
        stored = self.stored_bags if gamma == self.stored_gamma else None
        if stored is None or self._are_few(rows) or len(stored().words) < ENTRIES:
            return self.bags(rows, gamma, weights)
        factors = self.factors_of_words(weights)
        if factors is None:
            return self.bags(rows, gamma, weights)
        if weights not in self._factor_bags:
            self._factor_bags[weights] = factor_bags(stored(), factors)
        every = self._factor_bags[weights]
        return every if len(rows) == len(every) else every.only(rows)

    def _are_few(self, rows: NDArray[np.int64]) -> bool:
        """Return whether weighting only `rows` (m,) takes less time than weighting all rows once."""
        return 4 * len(rows) < len(self.segment.ids)

    def _weighted(self, gamma: float, weights: Weights, rows: NDArray[np.int64] | None = None) -> Bags:
        """Return the bags of `rows` (m,), or of all rows, from the stored ones if these have the same `gamma`."""
        factors = self.factors_of_words(weights)
        if self.stored_bags is None or gamma != self.stored_gamma:
            counts = self.segment.counts
            return weigh(counts if rows is None else counts.take(rows), gamma, factors, self.title_weight)
        bags = self.stored_bags() if rows is None else self.stored_bags().take(rows)
        return bags if factors is None else with_factors(bags, factors)

    @cached_property
    def term_rows(self) -> NDArray[np.int64]:
        """Return the rows (m,) of `segment.terms` that still represent a document."""
        return np.flatnonzero(~np.isin(self.segment.terms.ids, self.gone))

    @cached_property
    def term_ids(self) -> NDArray[np.int64]:
        """Return the ids (m,) of all documents that have a word, with a vector or without."""
        return self.segment.terms.ids[self.term_rows]

    @cached_property
    def word_vectors(self) -> WordVectors:
        """Return the vectors of all words, `segment.terms.word_ids`."""
        return self.some_word_vectors(np.arange(len(self.segment.terms.word_ids), dtype=np.int32))

    def some_word_vectors(self, terms: NDArray[np.int32]) -> WordVectors:
        """Return the vectors of some words (h,), by their positions among all."""
        rows, present = lookup(self.segment.terms.word_ids[terms], self.segment.word_ids)
        vectors = np.zeros((len(terms), self.segment.vectors.shape[1]), np.float32)
        vectors[present] = self.segment.vectors[rows[present]]
        return WordVectors(vectors, present)

    def term_counts(self, gamma: float, some: NDArray[np.int64] | None = None) -> TermCounts:
        """Return the counts of all words of the documents `term_ids`, or of `some` (k,); `gamma` weighs the parts."""
        terms, rows = self.segment.terms, self.term_rows if some is None else self.term_rows[some]
        counts = terms.counts if len(rows) == len(terms.ids) else terms.counts.take(rows)
        return TermCounts(*ranked_counts(counts, gamma, self.title_weight))

    def postings_cache(self, gamma: float, rule: str | None) -> PostingsCache | None:
        """Return the cache of the postings of words, or of the terms of a `rule`; None if documents have changed."""
        if self.directory is None or len(self.term_rows) < len(self.segment.terms.ids):
            return None
        key = checksum(f"{self.segment.state} {gamma!r} {self.title_weight!r} {rule}".encode())
        return PostingsCache.of(self.directory, f"{rule or 'words'}-{gamma:g}", key)


def counted_idf(parts: Sequence[LiveSegment], documents: int) -> OfWords:
    """Return the idf of words in `parts`, with `documents` documents in all; it is counted on first use, for tf-idf."""

    @cache
    def frequencies() -> Frequencies:
        counted = [(part.segment.word_ids, part.frequencies_of_words()) for part in parts]
        return Frequencies(*summed_by_id(counted), documents)

    return lambda ids, _: frequencies().idf(ids)
