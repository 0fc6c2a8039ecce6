"""The state that a search uses: the newest snapshot, its live rows, and the tail of later changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.given_vectors import Space
from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.ranking_term import Weights
from moverank.indexer.search.term_scores import TermScores
from moverank.indexer.snapshot.content_sample import SAMPLE, ContentSample
from moverank.indexer.snapshot.first_stage import FirstStage
from moverank.indexer.snapshot.fitted_encoder import FittedEncoder
from moverank.indexer.snapshot.segment import Segment
from moverank.indexer.snapshot.stage_vectors import GivenRows
from moverank.indexer.snapshot.sums_cache import SumsCache
from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.idf_bags import ENTRIES, IdfBags
from moverank.rerank.bags.weights import weigh, with_idf
from moverank.rerank.distance.bounds import idf_bags
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.encoders.centroid import Centroid
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

    def kept_sums(self, name: str, compute: Callable[[], NDArray[np.float64]], of: str = "") -> NDArray[np.float64]:
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
        if bags is None and 4 * len(rows) < len(self.segment.ids):
            return self._weighted(gamma, weights, rows)
        if bags is None:
            bags = self._weighted(gamma, weights)
            self._bags = {key: bags}
        return bags if len(rows) == len(bags) else bags.take(rows)

    def bags_of_most(self, rows: NDArray[np.int64], gamma: float, weights: Weights) -> Bags | IdfBags:
        """Return the bags of `rows` (m,) for a search that prunes most of them: idf is not multiplied for all."""
        stored = self.stored_bags if weights == "tfidf" and gamma == self.stored_gamma else None
        if stored is None or 4 * len(rows) < len(self.segment.ids) or len(stored().words) < ENTRIES:
            return self.bags(rows, gamma, weights)
        if self._idf_bags is None:
            self._idf_bags = idf_bags(stored(), self.idf_of_words())
        return self._idf_bags if len(rows) == len(self._idf_bags) else self._idf_bags.only(rows)

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


@dataclass(frozen=True, slots=True, eq=False)
class SampledBags:
    """The `bags` (s,) of a sample, over the `word_ids` (v,), increasing, that they have; vectors (v, d), norms (v,).

    `ids` (s,) are those of the documents.
    """

    ids: NDArray[np.int64]
    bags: Bags
    word_ids: NDArray[np.int64]
    vectors: NDArray[np.float32]
    norms: NDArray[np.float32]

    @classmethod
    def of(cls, documents: NDArray[np.int64], parts: Sequence[tuple[LiveSegment, Bags]], dim: int) -> "SampledBags":
        """Join bags of segments, all of whose words are renumbered; `documents` (s,) are the ids of theirs."""
        used = [np.unique(bags.words) for _, bags in parts]
        own = [part.segment.word_ids[words] for (part, _), words in zip(parts, used, strict=True)]
        word_ids = np.unique(np.concatenate([np.empty(0, np.int64), *own]))
        vectors, joined = np.zeros((len(word_ids), dim), np.float32), []
        for (part, bags), words, ids in zip(parts, used, own, strict=True):
            places = np.searchsorted(word_ids, ids).astype(np.int32)
            vectors[places] = part.segment.vectors[words]
            joined.append(Bags(bags.starts, places[np.searchsorted(words, bags.words)], bags.weights))
        return cls(documents, Bags.concatenated(joined), word_ids, vectors, vector_norms(vectors))


@dataclass(frozen=True, eq=False)
class View:
    """One consistent state: the newest snapshot, if there is one, then the tail, if there are later changes.

    `gamma` and `weights` are the collection's, used for the first stage's vectors. `frequencies` are those of words in
    all documents. `scores` ranks by word counts. `fitted` is the snapshot's encoder, `dim` the dimension of the word
    vectors, `snapshot` the snapshot's path. `directory` is the collection's, in which costly results are cached.
    `encoded` caches what rankings need of all documents: vectors of encoders, lengths of centroids, and the bags of the
    sample; `sampled` distances from a sample. `prepared` are the
    rankings for which everything is loaded. `space` is that of given vectors, None if an encoder computes them.
    `floor` is a lower bound of the WMD of the documents which the view lacks, 0 without one; infinite: it has all.
    `state` identifies the content if it is that of the snapshot, without later changes; else it is empty.
    `sampled_content` is the sample of stored documents, None if they are not.
    """

    revision: int
    segments: tuple[LiveSegment, ...]
    gamma: float
    weights: Weights
    frequencies: LazyFrequencies
    scores: TermScores
    fitted: FittedEncoder | None
    dim: int
    snapshot: Path | None
    directory: Path | None
    encoded: dict[Any, Any] = field(default_factory=dict)
    sampled: dict[Any, Any] = field(default_factory=dict)
    prepared: set[RankingSpec] = field(default_factory=set)
    space: Space | None = None
    floor: float = inf
    state: str = ""
    sampled_content: ContentSample | None = None

    @cached_property
    def sample(self) -> NDArray[np.int64]:
        """Return the ids (s,), increasing, of at most `SAMPLE` documents with a bag: a random sample, always the same.

        Of stored documents, it is chosen by their content, of others by a hash of the id.
        """
        if self.sampled_content is not None:
            return np.sort(self.sampled_content.ids)
        ids = np.concatenate([np.empty(0, np.int64), *(part.segment.ids[part.live] for part in self.segments)])
        hashes = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # Knuth's multiplicative hash
        return np.sort(ids[np.argsort(hashes, kind="stable")[:SAMPLE]])

    def sampled_bags(self, gamma: float, weights: Weights) -> SampledBags:
        """Return the bags of the sample, weighted by `gamma` and `weights`; they are cached."""
        key = "sample", gamma, weights
        if key not in self.encoded:
            rows = [np.flatnonzero(np.isin(part.segment.ids, self.sample) & part.live) for part in self.segments]
            ids = [part.segment.ids[own] for part, own in zip(self.segments, rows, strict=True)]
            chosen = [(part, part.bags(own, gamma, weights)) for part, own in zip(self.segments, rows, strict=True)]
            self.encoded[key] = SampledBags.of(np.concatenate([np.empty(0, np.int64), *ids]), chosen, self.dim)
        found: SampledBags = self.encoded[key]
        return found

    @cached_property
    def without_bag(self) -> NDArray[np.int64]:
        """Return the ids (m,), increasing, of documents that have words, but none with a vector."""
        with_bag = [part.segment.ids[part.live] for part in self.segments]
        ids = self.scores.ids
        return np.sort(ids[~np.isin(ids, np.concatenate([np.empty(0, np.int64), *with_bag]))])

    def check(self, *, stage: bool, terms: bool, vectors: bool = False) -> None:
        """Check the counts and bags; DamagedFile names a damaged file.

        `stage`: also the first stage's index and encoder; `terms`: also the counts of all words; `vectors`: also given
        vectors.
        """
        if terms:
            self.scores.check()
        if stage and self.fitted:
            self.fitted.check()
        for part in self.segments:
            _ = part.segment.counts
            if part.stored_bags:
                part.stored_bags()
            if stage and part.stage:
                part.stage.check()
            if stage and part.given:
                _ = part.given.rows, part.given.vectors if vectors else None

    def encoder(self) -> Encoder:
        """Return the encoder of the first stage's vectors: the centroid while there is no snapshot."""
        return self.fitted.restored() if self.fitted else Centroid(self.dim)
