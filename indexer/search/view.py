"""The state that a search uses: the newest snapshot, its live rows, and the tail of later changes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.segment_words import WordTexts
from moverank.indexer.search.segments import LiveSegment
from moverank.indexer.search.sized_cache import SizedCache
from moverank.indexer.search.term_scores import LargerCollection, TermScores
from moverank.indexer.snapshot.content_sample import SAMPLE, ContentSample
from moverank.indexer.snapshot.encoder_fit import FittedEncoder
from moverank.indexer.values.given_vectors import Space
from moverank.indexer.values.ranking_spec import Weights
from moverank.indexer.values.word_factors import WordFactors
from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.encoders.centroid import Centroid
from moverank.rerank.encoders.encoder import Encoder


@dataclass(frozen=True, slots=True, eq=False)
class JoinedBags:
    """The bags of documents of several segments, over the words that they have."""

    ids: NDArray[np.int64]  # (s,) of the documents
    bags: Bags  # (s,)
    word_ids: NDArray[np.int64]  # (v,), increasing
    vectors: NDArray[np.float32]  # (v, d)
    norms: NDArray[np.float32]  # (v,)

    @classmethod
    def of(cls, documents: NDArray[np.int64], parts: Sequence[tuple[LiveSegment, Bags]], dim: int) -> "JoinedBags":
        """Join bags of segments over one vocabulary; `documents` (s,) are the ids of their documents."""
        used = [np.flatnonzero(np.bincount(bags.words)) for _, bags in parts]
        own = [part.segment.word_ids[words] for (part, _), words in zip(parts, used, strict=True)]
        word_ids = np.unique(np.concatenate([np.empty(0, np.int64), *own]))
        vectors, joined = np.zeros((len(word_ids), dim), np.float32), []
        for (part, bags), words, ids in zip(parts, used, own, strict=True):
            places = np.zeros(len(part.segment.word_ids), np.int32)
            places[words] = np.searchsorted(word_ids, ids)
            vectors[places[words]] = part.segment.vectors[words]
            joined.append(Bags(bags.starts, places[bags.words], bags.weights))
        return cls(documents, Bags.concatenated(joined), word_ids, vectors, vector_norms(vectors))


@dataclass(frozen=True, eq=False)
class View:
    """One consistent state: the newest snapshot, if there is one, then the tail, if there are later changes.

    `computed` caches results over all documents: vectors of encoders, lengths of centroids, the bags of the sample, and
    distances from it; a ranking is a key once all its data are loaded.
    """

    segments: tuple[LiveSegment, ...]
    factors: WordFactors  # of words in all documents
    scores: TermScores  # ranks by word counts
    dim: int  # of the word vectors
    revision: int = 0
    gamma: float = 0.0  # the collection's, used for the first stage's vectors
    weights: Weights = "tf"  # the collection's, used for the first stage's vectors
    fitted: FittedEncoder | None = None  # the snapshot's encoder
    snapshot: Path | None = None
    directory: Path | None = None  # the collection's, in which costly results are cached
    computed: SizedCache = field(default_factory=lambda: SizedCache((LiveSegment,)))
    space: Space | None = None  # of given vectors; None: an encoder computes the vectors
    shard: str = ""  # its name, if several are searched together: the ids of documents start again in each
    sampled_content: ContentSample | None = None  # the sample of stored documents; None: documents are not stored

    @classmethod
    def of(
        cls,
        parts: Sequence[LiveSegment],
        documents: int,
        factors: WordFactors,
        texts: WordTexts,
        dim: int,
        larger: LargerCollection | None = None,
    ) -> "View":
        """Return the view of `parts`, which `documents` documents have; `texts` returns the words of ids.

        Its scorers take their statistics from a `larger` collection, if there is one. Other fields have defaults.
        """
        with_bags = tuple(part for part in parts if part.first_stage is not None or len(part.segment.ids))
        return cls(with_bags, factors, TermScores(parts, documents, texts, larger), dim)

    @cached_property
    def sample(self) -> NDArray[np.int64]:
        """Return the ids (s,), increasing, of at most `SAMPLE` documents with a bag: a random sample, always the same.

        Stored documents are chosen by their content, others by a hash of the id.
        """
        if self.sampled_content is not None:
            return np.sort(self.sampled_content.ids)
        ids = np.concatenate([np.empty(0, np.int64), *(part.segment.ids[part.live] for part in self.segments)])
        hashes = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # Knuth's multiplicative hash
        return np.sort(ids[np.argsort(hashes, kind="stable")[:SAMPLE]])

    def sampled_bags(self, gamma: float, weights: Weights) -> JoinedBags:
        """Return the bags of the sample, weighted by `gamma` and `weights`; they are cached."""

        def compute() -> JoinedBags:
            return self._joined([np.isin(part.segment.ids, self.sample) for part in self.segments], gamma, weights)

        return self.computed.get(("bags of the sample", gamma, weights), compute)

    def all_bags(self, gamma: float, weights: Weights) -> JoinedBags:
        """Return the bags of all documents, weighted by `gamma` and `weights`."""
        return self._joined([part.live for part in self.segments], gamma, weights)

    def _joined(self, chosen: Sequence[NDArray[np.bool_]], gamma: float, weights: Weights) -> JoinedBags:
        """Return the bags of the live ones among the `chosen` rows of each segment."""
        rows = [np.flatnonzero(own & part.live) for part, own in zip(self.segments, chosen, strict=True)]
        ids = [part.segment.ids[own] for part, own in zip(self.segments, rows, strict=True)]
        bags = [(part, part.bags(own, gamma, weights)) for part, own in zip(self.segments, rows, strict=True)]
        return JoinedBags.of(np.concatenate([np.empty(0, np.int64), *ids]), bags, self.dim)

    @cached_property
    def documents_with_bag(self) -> int:
        """Return the number of documents that have a word with a vector."""
        return sum(int(part.live.sum()) for part in self.segments)

    @cached_property
    def without_bag(self) -> NDArray[np.int64]:
        """Return the ids (m,), increasing, of documents that have words, but none with a vector."""
        with_bag = [part.segment.ids[part.live] for part in self.segments]
        ids = self.scores.ids
        return np.sort(ids[~np.isin(ids, np.concatenate([np.empty(0, np.int64), *with_bag]))])

    def check(self, *, index: bool, terms: bool, vectors: bool = False) -> None:
        """Check the counts and bags; DamagedFile names a damaged file.

        `index`: also the first stage's index and encoder; `terms`: also the counts of all words; `vectors`: also given
        vectors.
        """
        if terms:
            self.scores.check()
        if index and self.fitted:
            self.fitted.check()
        for part in self.segments:
            _ = part.segment.counts
            if part.stored_bags:
                part.stored_bags()
            if index and part.first_stage:
                part.first_stage.check()
            if index and part.given:
                _ = part.given.rows, part.given.vectors if vectors else None

    def encoder(self) -> Encoder:
        """Return the encoder of the first stage's vectors: the centroid while there is no snapshot."""
        return self.fitted.restored() if self.fitted else Centroid(self.dim)
