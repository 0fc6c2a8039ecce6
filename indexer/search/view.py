"""The state that a search uses: the newest snapshot, its live rows, and the tail of later changes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.given_vectors import Space
from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.ranking_term import Weights
from moverank.indexer.search.live_segment import LazyFrequencies, LiveSegment
from moverank.indexer.search.term_scores import TermScores
from moverank.indexer.snapshot.content_sample import SAMPLE, ContentSample
from moverank.indexer.snapshot.fitted_encoder import FittedEncoder
from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.encoders.centroid import Centroid
from moverank.rerank.encoders.encoder import Encoder


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
