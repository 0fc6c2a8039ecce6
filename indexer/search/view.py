"""The state that a search uses: the newest snapshot, its live rows, and the tail of later changes."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile
from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.ranking_term import Weights
from moverank.indexer.search.live_terms import LiveTerms
from moverank.indexer.search.stemmed_terms import Texts
from moverank.indexer.search.term_scores import TermScores
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.first_stage import FirstStage
from moverank.indexer.snapshot.fitted_encoder import FittedEncoder
from moverank.indexer.snapshot.segment import Segment, Terms, assemble, concatenated, keep_words
from moverank.indexer.snapshot.snapshot_reader import newest_snapshot
from moverank.indexer.snapshot.word_frequencies import WordFrequencies
from moverank.indexer.store import Reader
from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import weigh, with_idf
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.encoders.centroid import Centroid
from moverank.rerank.encoders.encoder import Documents, Encoder
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.vocabulary import UNKNOWN

SAMPLE = 256
"""Number of documents in a sample: the typical distance of a query and mutual proximity are estimated from it."""

_FEW_WORDS = 1000  # more are read with all others, which takes less time than finding each


class Frequencies(Protocol):
    """Document frequencies of words, for idf."""

    def idf(self, word_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the idf (n,) of words by id."""
        ...


class LazyFrequencies:
    """Document frequencies that `read` reads on first use: only tf-idf weights need them."""

    def __init__(self, read: Callable[[], Frequencies]) -> None:
        self._read = read
        self._frequencies: Frequencies | None = None

    def get(self) -> Frequencies:
        """Return the frequencies; the first call must be in the thread that opened the view."""
        if self._frequencies is None:
            self._frequencies = self._read()
        return self._frequencies


@dataclass(slots=True, eq=False)
class LiveSegment:
    """A segment, and its `live` rows (n,), which still represent a document; `frequencies` are those of its view.

    `title_weight` is the collection's. The segment of a snapshot has a first stage, `stage`, and `stored_bags`, which
    are weighted by `stored_gamma` without idf.
    """

    segment: Segment
    live: NDArray[np.bool_]
    frequencies: LazyFrequencies
    title_weight: float
    stage: FirstStage | None = None
    stored_gamma: float | None = None
    stored_bags: Callable[[], Bags] | None = None
    _bags: dict[tuple[float, Weights], Bags] = field(default_factory=dict)
    _encoded: NDArray[np.float32] | None = None
    _norms: NDArray[np.float32] | None = None
    _lengths: NDArray[np.float64] | None = None

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
            self._lengths = self.segment.counts.lengths(1.0)
        return self._lengths

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

    def _weighted(self, gamma: float, weights: Weights, rows: NDArray[np.int64] | None = None) -> Bags:
        """Return the bags of `rows` (m,), or of all rows, from the stored ones if these have the same `gamma`."""
        idf = self.frequencies.get().idf(self.segment.word_ids) if weights == "tfidf" else None
        if self.stored_bags is None or gamma != self.stored_gamma:
            counts = self.segment.counts
            return weigh(counts if rows is None else counts.take(rows), gamma, idf, self.title_weight)
        bags = self.stored_bags() if rows is None else self.stored_bags().take(rows)
        return bags if idf is None else with_idf(bags, idf)


@dataclass(frozen=True, eq=False)
class View:
    """One consistent state: the newest snapshot, if there is one, then the tail, if there are later changes.

    `gamma` and `weights` are the collection's, used for the first stage's vectors. `frequencies` are those of words in
    all documents. `scores` ranks by word counts. `fitted` is the snapshot's encoder, `dim` the dimension of the word
    vectors, `snapshot` the snapshot's path. `directory` is the collection's, in which costly results are cached.
    `encoded` caches the vectors of encoders that a ranking names, `sampled` distances from a sample; `prepared` are the
    rankings for which everything is loaded.
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

    @cached_property
    def sample(self) -> NDArray[np.int64]:
        """Return the ids (s,), increasing, of at most `SAMPLE` documents with a bag, chosen by a hash of the id."""
        ids = np.concatenate([np.empty(0, np.int64), *(part.segment.ids[part.live] for part in self.segments)])
        hashes = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # Knuth's multiplicative hash
        return np.sort(ids[np.argsort(hashes, kind="stable")[:SAMPLE]])

    @cached_property
    def without_bag(self) -> NDArray[np.int64]:
        """Return the ids (m,), increasing, of documents that have words, but none with a vector."""
        with_bag = [part.segment.ids[part.live] for part in self.segments]
        return np.setdiff1d(self.scores.ids, np.concatenate([np.empty(0, np.int64), *with_bag]))

    def check(self, *, stage: bool, terms: bool) -> None:
        """Check the counts and bags; DamagedFile names a damaged file.

        `stage`: also the first stage's index and encoder; `terms`: also the counts of all words.
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

    def encoder(self) -> Encoder:
        """Return the encoder of the first stage's vectors: the centroid while there is no snapshot."""
        return self.fitted.restored() if self.fitted else Centroid(self.dim)


def open_view(
    reader: Reader,
    directory: Path,
    settings: Settings,
    embedding: Embedding,
    damaged: Callable[[DamagedFile], None] = lambda _: None,
    distrusted: AbstractSet[Path] = frozenset(),
) -> View:
    """Open the newest snapshot, and read later changes from the store.

    `reader`, `directory`, `settings` and `embedding` are the collection's; `damaged` and `distrusted` as in
    `newest_snapshot`.
    """
    # The first statement fixes the state that the reader sees: a snapshot written later is not valid for it.
    revision = reader.revision()
    base = newest_snapshot(reader, directory, settings, embedding, damaged, distrusted)
    since = base.revision if base else 0
    tail, terms = _read_tail(reader, since, embedding)
    frequencies = LazyFrequencies(lambda: WordFrequencies(reader))
    if settings.weights == "tfidf":
        frequencies.get()
    weight = float(settings.title_weight)
    segments, counted = list[LiveSegment](), list[LiveTerms]()
    if base:
        gone = np.array(reader.changed_ids(since) + reader.removed_ids(since), np.int64)
        live = ~np.isin(base.segment.ids, gone)
        counted.append(LiveTerms(base.terms, gone, base.segment, weight, directory))
        segments.append(LiveSegment(base.segment, live, frequencies, weight, base.stage, settings.gamma, base.bags))
    if len(tail.ids):
        segments.append(LiveSegment(tail, np.ones(len(tail.ids), bool), frequencies, weight))
    if len(terms.ids):
        counted.append(LiveTerms(terms, np.empty(0, np.int64), tail, weight))
    scores = TermScores(counted, reader.document_count(), _word_texts(reader))
    fitted, path = (base.encoder, base.path) if base else (None, None)
    own = settings.gamma, settings.weights
    return View(revision, tuple(segments), *own, frequencies, scores, fitted, embedding.dim, path, directory)


def _read_tail(reader: Reader, since: int, embedding: Embedding) -> tuple[Segment, Terms]:
    """Read the documents changed after revision `since` into a segment with its own vocabulary."""
    parts = list(reader.counted_parts(since))
    all_words = np.unique(np.frombuffer(b"".join(part.words for part in parts), "<i4")).astype(np.int64)
    ids, counts = concatenated(list(assemble(parts, all_words)))
    rows = reader.word_rows(all_words.tolist())
    known = sorted(id_ for id_, row in rows.items() if row != UNKNOWN)
    texts = reader.word_texts(known)
    vectors = embedding.gather([texts[id_] for id_ in known], np.array([rows[id_] for id_ in known], np.int64))
    word_ids = np.array(known, np.int64)
    segment = Segment(*keep_words(ids, counts, all_words, word_ids), word_ids, vectors)
    return segment, Terms(ids, counts, all_words)


def _word_texts(reader: Reader) -> Texts:
    """Return a function from ids to words; many are read at once."""

    def texts(ids: NDArray[np.int64]) -> list[str]:
        few = len(ids) <= _FEW_WORDS
        words = reader.word_texts(ids.tolist()) if few else {word.id: word.word for word in reader.all_words()}
        return [words[id_] for id_ in ids.tolist()]

    return texts
