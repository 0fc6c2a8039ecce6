"""The collection as a search sees it: the newest snapshot, the tail behind it, and which rows are still alive."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile
from moverank.indexer.search.term_scores import LiveTerms, TermScores
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot import snapshot_files
from moverank.indexer.snapshot.first_stage import FirstStage
from moverank.indexer.snapshot.fitted_encoder import FittedEncoder
from moverank.indexer.snapshot.segment import Segment, Terms, among, assemble, joined
from moverank.indexer.store import Reader
from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import inverse_document_frequency, weigh, with_idf
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.encoders.centroid import Centroid
from moverank.rerank.encoders.encoder import Documents, Encoder
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.vocabulary import UNKNOWN


@dataclass(slots=True, eq=False)
class LiveSegment:
    """A segment, which of its rows (n,) still stand for a document, and the idf (v,) of its words or None.

    A snapshot has a first stage, and its bags at the collection's `own_gamma` are made already, but for the idf.
    """

    segment: Segment
    live: NDArray[np.bool_]
    idf: NDArray[np.float64] | None
    stage: FirstStage | None = None
    own_gamma: float | None = None
    own_bags: Callable[[], Bags] | None = None
    _bags: dict[float, Bags] = field(default_factory=dict)
    _encoded: NDArray[np.float32] | None = None
    _norms: NDArray[np.float32] | None = None

    @property
    def norms(self) -> NDArray[np.float32]:
        """Return the lengths (v,) of the word vectors."""
        if self._norms is None:
            self._norms = vector_norms(self.segment.vectors)
        return self._norms

    def encoded(self, encoder: Encoder, rows: NDArray[np.int64], gamma: float) -> NDArray[np.float32]:
        """Return the vectors (m, dim) of rows (m,), whose bags are weighed by the collection's own gamma.

        Without an index, all are made at once and kept, for every search asks for them.
        """
        if self.stage is not None:
            return encoder.encode(self._documents(rows, gamma))
        if self._encoded is None:
            self._encoded = encoder.encode(self._documents(np.arange(len(self.segment.ids)), gamma))
        return self._encoded[rows]

    def _documents(self, rows: NDArray[np.int64], gamma: float) -> Documents:
        lengths = self.segment.counts.take(rows).lengths()
        return Documents(self.bags(rows, gamma), lengths, self.segment.word_ids, self.segment.vectors)

    def bags(self, rows: NDArray[np.int64], gamma: float) -> Bags:
        """Return the bags of rows (m,); all are made at once, and kept, when many are asked for."""
        if gamma not in self._bags and 4 * len(rows) < len(self.segment.ids):
            return self._some_bags(rows, gamma)
        if gamma not in self._bags:
            self._bags = {gamma: self._all_bags(gamma)}
        every = self._bags[gamma]
        return every if len(rows) == len(every) else every.take(rows)

    def _some_bags(self, rows: NDArray[np.int64], gamma: float) -> Bags:
        if self.own_bags is None or gamma != self.own_gamma:
            return weigh(self.segment.counts.take(rows), gamma, self.idf)
        bags = self.own_bags().take(rows)
        return bags if self.idf is None else with_idf(bags, self.idf)

    def _all_bags(self, gamma: float) -> Bags:
        if self.own_bags is None or gamma != self.own_gamma:
            return weigh(self.segment.counts, gamma, self.idf)
        return self.own_bags() if self.idf is None else with_idf(self.own_bags(), self.idf)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """One consistent state: the newest snapshot, if there is one, and then the tail, if anything has changed since.

    `frequencies` are there where weights need them. `scoring` ranks by word counts. `fitted` is the snapshot's encoder,
    `base` its place.
    """

    revision: int
    segments: tuple[LiveSegment, ...]
    frequencies: "Frequencies | None"
    scoring: TermScores
    fitted: FittedEncoder | None
    dim: int
    base: Path | None

    def check(self, *, stage: bool, terms: bool) -> None:
        """Look through the files that searches read, with the first `stage` and all `terms` or without.

        DamagedFile names a bad one.
        """
        if terms:
            self.scoring.check()
        for part in self.segments:
            _ = part.segment.counts
            if part.own_bags:
                part.own_bags()
            if stage and part.stage:
                part.stage.check()

    def encoder(self) -> Encoder:
        """Return what made the first stage's vectors: where there is none yet, the centroid has to do."""
        return self.fitted.restored() if self.fitted else Centroid(self.dim)


def open_view(
    reader: Reader,
    directory: Path,
    settings: Settings,
    embedding: Embedding,
    damaged: Callable[[DamagedFile], None] = lambda _: None,
    distrusted: AbstractSet[Path] = frozenset(),
) -> View:
    """Open the newest snapshot, and read from the store what has changed since; see `snapshot.newest`."""
    # The first question fixes the state that the reader sees: a snapshot written after it is of no use here.
    revision = reader.revision()
    base = newest_snapshot(reader, directory, settings, embedding, damaged, distrusted)
    since = base.revision if base else 0
    tail, terms = read_tail(reader, since, embedding)
    frequencies = Frequencies(reader) if settings.weights == "tfidf" else None
    segments, counted = list[LiveSegment](), list[LiveTerms]()
    if base:
        gone = np.array(reader.changed_ids(since) + reader.removed_ids(since), np.int64)
        live = ~np.isin(base.segment.ids, gone)
        counted.append(LiveTerms(base.terms, gone, base.segment, directory))
        idf = _idf(frequencies, base.segment)
        segments.append(LiveSegment(base.segment, live, idf, base.stage, settings.gamma, base.bags))
    if len(tail.ids):
        segments.append(LiveSegment(tail, np.ones(len(tail.ids), bool), _idf(frequencies, tail)))
    if len(terms.ids):
        counted.append(LiveTerms(terms, np.empty(0, np.int64), tail))
    scoring = TermScores(counted, reader.document_count(), embedding.dim)
    fitted, place = (base.encoder, base.path) if base else (None, None)
    return View(revision, tuple(segments), frequencies, scoring, fitted, embedding.dim, place)


def newest_snapshot(
    reader: Reader,
    directory: Path,
    settings: Settings,
    embedding: Embedding,
    damaged: Callable[[DamagedFile], None] = lambda _: None,
    distrusted: AbstractSet[Path] = frozenset(),
) -> snapshot_files.Snapshot | None:
    """Return the newest snapshot of the history that the reader sees, unless what was removed since is forgotten."""
    forgotten = reader.forgotten()

    def valid(revision: int, token: str) -> bool:
        return revision >= forgotten and reader.token(revision) == token

    return snapshot_files.newest(directory, made_for(settings, embedding), valid, damaged, distrusted)


def made_for(settings: Settings, embedding: Embedding) -> dict[str, object]:
    """Return what a snapshot has to have been made for."""
    return settings.derived_key() | {"embedding": embedding.fingerprint}


def read_tail(reader: Reader, since: int, embedding: Embedding) -> tuple[Segment, Terms]:
    """Read the documents that changed after a revision into a segment with a vocabulary of its own."""
    parts = list(reader.counted_parts(since))
    every = np.unique(np.frombuffer(b"".join(part.words for part in parts), "<i4")).astype(np.int64)
    ids, counts = joined(list(assemble(parts, every)))
    rows = reader.word_rows(every.tolist())
    known = sorted(id_ for id_, row in rows.items() if row != UNKNOWN)
    texts = reader.word_texts(known)
    vectors = embedding.gather([texts[id_] for id_ in known], np.array([rows[id_] for id_ in known], np.int64))
    word_ids = np.array(known, np.int64)
    return Segment(*among(ids, counts, every, word_ids), word_ids, vectors), Terms(ids, counts, every)


class Frequencies:
    """In how many documents each known word occurs."""

    def __init__(self, reader: Reader) -> None:
        pairs = np.array(reader.frequencies(), np.int64).reshape(-1, 2)
        self._ids, self._frequencies = pairs[:, 0], pairs[:, 1]
        self._documents = reader.document_count()

    def idf(self, word_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the idf (n,) of words by id; one that no document has gets the largest."""
        found = np.isin(word_ids, self._ids)
        frequencies = np.zeros(len(word_ids), np.int64)
        frequencies[found] = self._frequencies[np.searchsorted(self._ids, word_ids[found])]
        return inverse_document_frequency(frequencies, self._documents)


def _idf(frequencies: Frequencies | None, segment: Segment) -> NDArray[np.float64] | None:
    return frequencies.idf(segment.word_ids) if frequencies else None
