"""Compaction: a new snapshot replaces the newest one and a long tail of later changes.

The tail is read from the store at each opening: with a short tail, changes are cheap and a collection opens quickly.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.directory import remove_cached
from moverank.indexer.snapshot.content_sample import ContentSample
from moverank.indexer.snapshot.document_vectors import DocumentVectors, EncodedVectors, GivenVectors
from moverank.indexer.snapshot.encoder_fit import FittedEncoder, fit_encoder, known_words, stored_frequencies
from moverank.indexer.snapshot.segment import Portion, assemble
from moverank.indexer.snapshot.snapshot_files import made_for, newest_snapshot
from moverank.indexer.snapshot.snapshot_writer import SnapshotContent, remove_other_snapshots, write_snapshot
from moverank.indexer.store import Reader, Store
from moverank.indexer.values.search_options import Progress
from moverank.indexer.values.settings import Settings
from moverank.rerank.encoders.encoder import Encoder
from moverank.rerank.words.embedding import Embedding

_log = logging.getLogger("moverank")

SMALL_TAIL = 256
"""Number of changed documents up to which reading the tail is faster than opening a snapshot."""

_SHARE = 20


def compact_if_due(
    store: Store, directory: Path, settings: Settings, embedding: Embedding, progress: Progress, *, refit: bool = False
) -> None:
    """Write a snapshot of the current revision if the tail exceeds `SMALL_TAIL` and 1/20 of the newest snapshot.

    Thus each document is written at most some twenty times while a collection doubles in size. `store`, `directory`,
    `settings` and `embedding` are the collection's; `progress` is called during writing. The encoder of the newest
    snapshot is reused; `refit` fits it again to the current documents, and writes the snapshot for any tail.
    """
    with store.reading() as reader:
        revision = reader.revision()
        base = newest_snapshot(reader, directory, settings, embedding, log_damage)
        since, size = (base.revision, len(base.segment.ids)) if base else (0, 0)
        tail = len(reader.changed_ids(since)) + (len(reader.removed_ids(since)) if base else 0)
        if not needs_compaction(tail, size) and not (refit and size + tail):
            # Left behind by a killed writer, or made for word vectors that have been replaced.
            remove_other_snapshots(directory, base.path if base else None)
            return
        encoder = _restored(base.encoder) if base and base.encoder and not refit else None
        path = _write(reader, directory, settings, embedding, encoder, progress)
        del base, encoder  # mapped files cannot be removed everywhere
    remove_other_snapshots(directory, path)
    remove_cached(directory)
    if not store.shared:  # else other machines may have older snapshots
        with store.writing() as writer:
            writer.forget_removals(revision)


def needs_compaction(tail: int, size: int) -> bool:
    """Return whether `tail` changes after a snapshot of `size` documents should be compacted."""
    return tail > max(SMALL_TAIL, size // _SHARE)


def log_damage(damage: DamagedFile) -> None:
    """Log that a snapshot is damaged and will be rebuilt."""
    _log.warning("%s: the snapshot is rebuilt from the database", damage)


def _restored(fitted: FittedEncoder) -> Encoder | None:
    """Return the encoder of a snapshot; None if its file is damaged, so that it is fitted again."""
    try:
        return fitted.restored()
    except DamagedFile as damage:
        log_damage(damage)
        return None


def _write(
    reader: Reader,
    directory: Path,
    settings: Settings,
    embedding: Embedding,
    encoder: Encoder | None,
    progress: Progress,
) -> Path:
    """Write the snapshot of the reader's state; with `encoder` None, fit one first if the first stage uses one."""
    words = known_words(reader.all_words(known=True), embedding)
    factors = words.factors(settings.weights, embedding, lambda: stored_frequencies(reader))
    space = settings.space(reader.vector_dim())
    if space:
        own: DocumentVectors = GivenVectors(reader, space)
    else:
        own = EncodedVectors(
            encoder or fit_encoder(reader, words, settings, factors), words.ids, words.vectors, factors
        )
    all_ids = np.array(reader.word_ids(), np.int64)
    portions = _counted(assemble(reader.counted_parts(), all_ids), reader.document_count(), progress)
    revision = reader.revision()
    token = reader.token(revision) or ""
    made = made_for(settings, embedding)
    sample = ContentSample.stored(reader)
    content = SnapshotContent(revision, token, made, portions, all_ids, words.ids, words.vectors, own, sample)
    return write_snapshot(directory, content)


def _counted(portions: Iterator[Portion], total: int, progress: Progress) -> Iterator[Portion]:
    """Yield the portions, and report progress."""
    done = 0
    for ids, counts in portions:
        yield ids, counts
        done += len(ids)
        progress("Writing the snapshot", done, total, "documents")
