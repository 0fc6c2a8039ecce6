"""Folding the tail into a new snapshot, now and then: adding costs what is added, and opening stays quick."""

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile
from moverank.indexer.progress import Progress
from moverank.indexer.search.view import Frequencies, made_for, newest_snapshot
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot import snapshot_files
from moverank.indexer.snapshot.fitted_encoder import FittedEncoder
from moverank.indexer.snapshot.segment import assemble, joined
from moverank.indexer.store import Reader, Store
from moverank.rerank.bags.weights import PartCounts, weigh
from moverank.rerank.encoders.centroid import Centroid
from moverank.rerank.encoders.encoder import Documents, Encoder
from moverank.rerank.encoders.encoder_registry import choose
from moverank.rerank.words.embedding import Embedding

_log = logging.getLogger("moverank")

SMALL_TAIL = 256
"""A tail of so many documents is read faster than a snapshot is opened."""
_SHARE = 20


FIT_SAMPLE = 50_000
"""So many documents, evenly spread, are what an encoder learns from where there are more."""


def compact_if_due(
    store: Store,
    directory: Path,
    settings: Settings,
    embedding: Embedding,
    progress: Progress,
    *,
    refit: bool = False,
) -> None:
    """Write a snapshot of the current revision when the tail is longer than a twentieth of the newest one.

    So each document is written again some twenty times at the most while a collection doubles. The encoder of the
    newest snapshot is kept; `refit` fits it again on all documents, due or not.
    """
    with store.reading() as reader:
        revision = reader.revision()
        base = newest_snapshot(reader, directory, settings, embedding, log_damage)
        since, size = (base.revision, len(base.segment.ids)) if base else (0, 0)
        tail = len(reader.changed_ids(since)) + (len(reader.removed_ids(since)) if base else 0)
        if tail <= max(SMALL_TAIL, size // _SHARE) and not (refit and size + tail):
            if base:
                snapshot_files.remove_others(directory, base.path)  # of a writer that was killed before it could
            return
        encoder = _kept(base.encoder) if base and not refit else None
        path = _write(reader, revision, directory, settings, embedding, encoder, progress)
    snapshot_files.remove_others(directory, path)
    with store.writing() as writer:
        writer.forget_removals(revision)


def log_damage(damage: DamagedFile) -> None:
    """Tell that a snapshot is not what was written, and what is done about it."""
    _log.warning("%s: the snapshot is made again from the database", damage)


def _kept(fitted: FittedEncoder) -> Encoder | None:
    """Return the encoder of a snapshot, None where its file is damaged: then it is fitted again."""
    try:
        return fitted.restored()
    except DamagedFile as damage:
        log_damage(damage)
        return None


def _write(
    reader: Reader,
    revision: int,
    directory: Path,
    settings: Settings,
    embedding: Embedding,
    encoder: Encoder | None,
    progress: Progress,
) -> Path:
    """Write the snapshot of what the reader sees; the encoder is fitted if there is none."""
    vocabulary = reader.vocabulary()
    word_ids = np.array([word.id for word in vocabulary], np.int64)
    rows = np.array([word.row for word in vocabulary], np.int64)
    vectors = embedding.gather([word.word for word in vocabulary], rows)
    idf = Frequencies(reader).idf(word_ids) if settings.weights == "tfidf" else None
    if encoder is None:
        encoder = _fitted(reader, word_ids, vectors, settings, idf)
    every = np.array(reader.word_ids(), np.int64)
    portions = _told(assemble(reader.counted_parts(), every), reader.document_count(), progress)
    choices, token = made_for(settings, embedding), reader.token(revision) or ""
    return snapshot_files.write(directory, revision, token, choices, portions, every, word_ids, vectors, idf, encoder)


def _fitted(
    reader: Reader,
    word_ids: NDArray[np.int64],
    vectors: NDArray[np.float32],
    settings: Settings,
    idf: NDArray[np.float64] | None,
) -> Encoder:
    """Fit the encoder of the settings to documents of the reader."""
    stride, first = max(1, reader.document_count() // FIT_SAMPLE), 0
    sample: list[tuple[NDArray[np.int64], PartCounts]] = []
    if settings.encoder != Centroid.name or Centroid.learns(settings.encoder_options()):
        for ids, counts in assemble(reader.counted_parts(), word_ids):
            rows = np.arange(-first % stride, len(ids), stride)
            sample.append((ids[rows], counts.take(rows)))
            first += len(ids)
    _, counts = joined(sample)
    bags = weigh(counts, settings.gamma, idf)
    documents = Documents(bags, counts.lengths(), word_ids, vectors)
    return choose(settings.encoder, settings.encoder_options()).fit(documents, settings.encoder_options())


def _told(
    portions: Iterator[tuple[NDArray[np.int64], PartCounts]], total: int, progress: Progress
) -> Iterator[tuple[NDArray[np.int64], PartCounts]]:
    """Tell how far the portions are."""
    done = 0
    for ids, counts in portions:
        yield ids, counts
        done += len(ids)
        progress("Writing the snapshot", done, total, "documents")
