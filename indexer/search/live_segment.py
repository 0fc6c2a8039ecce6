"""The documents of a snapshot, or of the changes after it, that a search uses, with their weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.ranking_term import Weights
from moverank.indexer.snapshot.first_stage import FirstStage
from moverank.indexer.snapshot.segment import Segment
from moverank.indexer.snapshot.stage_vectors import GivenRows
from moverank.indexer.snapshot.sums_cache import Number, SumsCache
from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.idf_bags import ENTRIES, IdfBags
from moverank.rerank.bags.weights import weigh, with_idf
from moverank.rerank.distance.bounds import idf_bags
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.encoders.encoder import Documents, Encoder


class Frequencies(Protocol):
    """Document frequencies of words, for idf."""

    def idf(self, word_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the idf (n,) of words by id."""
        ...

    def idf_of_query(self, word_ids: NDArray[np.int64], texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the idf (n,) of words of a query, by id (0: in no document of the collection) and as `texts` (n,)."""
        ...


class LazyFrequencies:
    """Document frequencies that `count` counts on first use: only tf-idf weights need them."""

    def __init__(self, count: Callable[[], Frequencies]) -> None:
        self._count = count
        self._frequencies: Frequencies | None = None

    def get(self) -> Frequencies:
        """Return the frequencies."""
        if self._frequencies is None:
            self._frequencies = self._count()
        return self._frequencies


@dataclass(slots=True, eq=False)
class LiveSegment:
    """A segment, and its `live` rows (n,), which still represent a document; `frequencies` are those of its view.

    `title_weight` is the collection's. `given` are its vectors for the first stage, if these are given. The segment of
    a snapshot has a first stage, `stage`, and `stored_bags`, which are weighted by `stored_gamma` without idf; `kept`
    keeps in the collection what is computed from all of its rows.
    """

    segment: Segment
    live: NDArray[np.bool_]
    frequencies: LazyFrequencies
    title_weight: float
    stage: FirstStage | None = None
    given: GivenRows | None = None
    stored_gamma: float | None = None
    stored_bags: Callable[[], Bags] | None = None
    kept: SumsCache | None = None
    _bags: dict[tuple[float, Weights], Bags] = field(default_factory=dict)
    _encoded: NDArray[np.float32] | None = None
    _norms: NDArray[np.float32] | None = None
    _lengths: NDArray[np.float64] | None = None
    _idf: NDArray[np.float64] | None = None
    _idf_bags: IdfBags | None = None

    def with_frequencies(self, frequencies: LazyFrequencies) -> "LiveSegment":
        """Return the same rows, weighted by other frequencies of words; what does not depend on these is kept."""
        bags = {key: bags for key, bags in self._bags.items() if key[1] == "tf"}
        return replace(self, frequencies=frequencies, _bags=bags, _idf=None, _idf_bags=None)

    @property
    def norms(self) -> NDArray[np.float32]:
        """Return the lengths (v,) of the word vectors."""
        if self._norms is None:
            self._norms = vector_norms(self.segment.vectors)
        return self._norms

    @property
    def lengths(self) -> NDArray[np.float64]:
        """Return the number of tokens with a vector (n,) of each document, those of titles counted once."""
        if self._lengths is None:
            self._lengths = self.kept_sums("tokens", lambda: self.segment.counts.lengths(1.0))
        return self._lengths

    def frequencies_of_words(self) -> NDArray[np.int64]:
        """Return in how many live rows each word (v,) of the segment occurs."""
        if self.kept is None:
            return self._count(self.live)
        every = self.kept_sums("frequencies", lambda: self._count(np.ones(len(self.live), bool)))
        return every if self.live.all() else every - self._count(~self.live)

    def _count(self, some: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return in how many of `some` rows (n,) each word (v,) occurs."""
        from moverank.rerank.kernels.document_frequencies import count_documents

        frequencies = np.zeros(len(self.segment.word_ids), np.int64)
        # Bags have all words only without gamma; they are loaded anyway, unlike the counts.
        rows = self.segment.counts if self.stored_bags is None or self.stored_gamma else self.stored_bags()
        count_documents(rows.starts, rows.words, some, frequencies)
        return frequencies

    def kept_sums(self, name: str, compute: Callable[[], NDArray[Number]], of: str = "") -> NDArray[Number]:
        """Return the result (n,) of `compute` for all rows, `kept` under a `name`; `of` is what else it depends on."""
        return self.kept.sums(name, compute, of) if self.kept else compute()

    def encoded(self, encoder: Encoder, rows: NDArray[np.int64], gamma: float, weights: Weights) -> NDArray[np.float32]:
        """Return the vectors (m, dim) by `encoder` of `rows` (m,), whose bags are weighted by `gamma` and `weights`.

        Without an index, the vectors of all rows are computed at once and cached: every search needs them.
        """
        if self.stage is not None:
            return encoder.encode(self.documents(rows, gamma, weights))
        if self._encoded is None:
            self._encoded = encoder.encode(self.documents(np.arange(len(self.segment.ids)), gamma, weights))
        return self._encoded[rows]

    def documents(self, rows: NDArray[np.int64], gamma: float, weights: Weights) -> Documents:
        """Return what an encoder takes of `rows` (m,), whose bags are weighted by `gamma` and `weights`."""
        lengths = self.segment.counts.take(rows).lengths(self.title_weight)
        return Documents(self.bags(rows, gamma, weights), lengths, self.segment.word_ids, self.segment.vectors)

    def bags(self, rows: NDArray[np.int64], gamma: float, weights: Weights) -> Bags:
        """Return the bags of rows (m,); if many are requested, those of all rows are computed and cached.

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

    def bags_of_most(self, rows: NDArray[np.int64], gamma: float, weights: Weights) -> Bags | IdfBags:
        """Return the bags of `rows` (m,) for a search that prunes most of them: idf is not multiplied for all."""
        stored = self.stored_bags if weights == "tfidf" and gamma == self.stored_gamma else None
        if stored is None or self._are_few(rows) or len(stored().words) < ENTRIES:
            return self.bags(rows, gamma, weights)
        if self._idf_bags is None:
            self._idf_bags = idf_bags(stored(), self.idf_of_words())
        return self._idf_bags if len(rows) == len(self._idf_bags) else self._idf_bags.only(rows)

    def _are_few(self, rows: NDArray[np.int64]) -> bool:
        """Return whether weighting only `rows` (m,) takes less time than weighting all rows once."""
        return 4 * len(rows) < len(self.segment.ids)

    def _weighted(self, gamma: float, weights: Weights, rows: NDArray[np.int64] | None = None) -> Bags:
        """Return the bags of `rows` (m,), or of all rows, from the stored ones if these have the same `gamma`."""
        idf = self.idf_of_words() if weights == "tfidf" else None
        if self.stored_bags is None or gamma != self.stored_gamma:
            counts = self.segment.counts
            return weigh(counts if rows is None else counts.take(rows), gamma, idf, self.title_weight)
        bags = self.stored_bags() if rows is None else self.stored_bags().take(rows)
        return bags if idf is None else with_idf(bags, idf)

    def idf_of_words(self) -> NDArray[np.float64]:
        """Return the idf (v,) of the words of the segment."""
        if self._idf is None:
            self._idf = self.frequencies.get().idf(self.segment.word_ids)
        return self._idf
