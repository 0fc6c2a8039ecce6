"""Keeps the first stage in the database up to date, in the transactions that change documents, settings or vectors."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from moverank.indexer.errors import CollectionError, VectorsError
from moverank.indexer.indexing.stage_place import new_table, required_extension
from moverank.indexer.progress import Progress, silent
from moverank.indexer.settings import DATABASE, Settings
from moverank.indexer.snapshot import compaction
from moverank.indexer.snapshot.database_stage import (
    STAGE,
    DatabaseStage,
    StageRecord,
    current_record,
    remove_other_folders,
    restored_stage,
)
from moverank.indexer.snapshot.encoder_fit import fit_encoder, learns
from moverank.indexer.snapshot.snapshot_reader import made_for
from moverank.indexer.snapshot.stage_tokens import totals_of
from moverank.indexer.snapshot.word_frequencies import WordFrequencies
from moverank.indexer.store import Reader, StageRow, StageTable, Store, Writer
from moverank.indexer.store.stored_files import store_folder
from moverank.rerank.encoders.encoder import Encoder
from moverank.rerank.words.embedding import Embedding


def stage_follower(
    store: Store, directory: Path, settings: Settings, embedding: Embedding | None
) -> Callable[[Writer], None]:
    """Return a function that brings the first stage up to date with the changes of a transaction, without a fit."""
    opened: dict[str, DatabaseStage] = {}

    def follow(writer: Writer) -> None:
        update_stage(writer, directory, settings, embedding, fit=False, opened=opened)

    return follow if store.shared else lambda _: None


def keep_stage(
    store: Store,
    directory: Path,
    settings: Settings,
    embedding: Embedding | None,
    progress: Progress = silent,
    *,
    refit: bool = False,
) -> None:
    """Fit and fill the first stage in the database if that is due, and drop those which it replaced.

    `refit`: fit it in any case. The caller holds the writer's lock.
    """
    if not store.shared:
        return
    with store.writing() as writer:
        update_stage(writer, directory, settings, embedding, fit=True, again=refit, progress=progress)
        current = StageRecord.of(writer.settings())
        writer.drop_stages(but=current.table.name if current else None)
    remove_other_folders(directory, current)


def renew_stage(
    store: Store, directory: Path, settings: Settings, embedding: Embedding | None, progress: Progress
) -> None:
    """Write the first stage in the database again, by the encoder that it has, or by a new fit if that is lost.

    The caller holds the writer's lock.
    """
    if not store.shared:
        return
    with store.writing() as writer:
        record = StageRecord.of(writer.settings())
        if record and embedding and record.made_for == made_for(settings, embedding):
            try:
                before = restored_stage(writer, directory, settings, record)
            except VectorsError:
                before = None
            _fill(writer, directory, settings, embedding, record, before, progress)
    keep_stage(store, directory, settings, embedding, progress)


def update_stage(
    writer: Writer,
    directory: Path,
    settings: Settings,
    embedding: Embedding | None,
    *,
    fit: bool,
    again: bool = False,
    opened: dict[str, DatabaseStage] | None = None,
    progress: Progress = silent,
) -> None:
    """Bring the first stage in a shared database to the state of `writer`, in its transaction.

    `directory`, `settings` and `embedding` are the collection's. An encoder that learns is only fitted with `fit`, and
    to more than a few documents; `again` fits it to any. `opened` keeps encoders for the next call. Raises UsageError
    for vectors that cannot be stored, CollectionError and VectorsError for a damaged first stage.
    """
    record = StageRecord.of(writer.settings())
    if settings.first_stage_in != DATABASE or embedding is None:
        _forget(writer, record)
    elif again or record is None or not _is_current(writer, record, settings, embedding):
        if _is_due(writer, settings, fit=fit, again=again):
            _fill(writer, directory, settings, embedding, record, None, progress)
        else:
            _forget(writer, record)
    else:
        if record.revision != writer.revision():
            record = _follow(writer, _opened(writer, directory, settings, record, opened), settings, embedding)
            writer.set_settings(record.setting())
        if fit and not record.indexed and _is_indexable(record.table, writer.document_count()):
            writer.index_stage(record.table)
            writer.set_settings(replace(record, indexed=True).setting())


def copy_stage(
    reader: Reader, origin: Path, writer: Writer, directory: Path, embedding: Embedding, progress: Progress
) -> None:
    """Fill the first stage of a copy, which is in a database, by the encoder of the collection in `origin`."""
    settings = Settings.restored(writer.settings())
    record = current_record(reader, settings, embedding)
    writer.set_settings({STAGE: {}})
    if record:
        _fill(writer, directory, settings, embedding, None, restored_stage(reader, origin, settings, record), progress)


def _forget(writer: Writer, record: StageRecord | None) -> None:
    """Delete what a record describes, but its table: readers may have it open."""
    if record:
        writer.drop_files(record.table.name)
        writer.set_settings({STAGE: {}})


def _is_current(writer: Writer, record: StageRecord, settings: Settings, embedding: Embedding) -> bool:
    """Return whether vectors are made as the settings say; given ones have the dimension that they have now."""
    space = settings.space(writer.vector_dim())
    return record.made_for == made_for(settings, embedding) and (space is None or space.dim == record.table.dim)


def _is_indexable(table: StageTable, documents: int) -> bool:
    """Return whether a table is to have an index: of a few documents, all vectors are compared."""
    return table.links is not None and documents > compaction.SMALL_TAIL


def _opened(
    writer: Writer, directory: Path, settings: Settings, record: StageRecord, opened: dict[str, DatabaseStage] | None
) -> DatabaseStage:
    """Return the first stage of a record, by the encoder that was `opened` before if there is one."""
    if not writer.hold_stage(record.table):
        raise CollectionError(
            f"the database has no table {record.table.name} of the first stage: `moverank check --repair` makes it"
        )
    cache = {} if opened is None else opened
    if record.table.name not in cache:
        cache[record.table.name] = restored_stage(writer, directory, settings, record)
    return replace(cache[record.table.name], record=record)


def _is_due(writer: Writer, settings: Settings, *, fit: bool, again: bool) -> bool:
    """Return whether the first stage can be made: of an encoder that learns, only on request."""
    space = settings.space(writer.vector_dim())
    if space is not None:
        return space.dim > 0
    if settings.weights != "tfidf" and not learns(settings):
        return True
    if not fit:
        return False
    documents = writer.document_count() - writer.wordless_count()
    return documents > (0 if again else compaction.SMALL_TAIL)


def _fill(
    writer: Writer,
    directory: Path,
    settings: Settings,
    embedding: Embedding,
    before: StageRecord | None,
    source: DatabaseStage | None,
    progress: Progress,
) -> None:
    """Fit an encoder, unless `source` has one, and write the vectors of all documents to a new table."""
    extension = required_extension(writer, settings)
    space = settings.space(writer.vector_dim())
    encoder, frequencies = (source.encoder, source.frequencies) if source else (None, None)
    if space is None and encoder is None:
        encoder, frequencies = _fitted(writer, settings, embedding)
    dim = encoder.dim if encoder else space.dim if space else 0
    table = new_table(settings, dim, extension, products=space is not None and space.products)
    record = StageRecord(table, writer.revision(), made_for(settings, embedding), {})
    stage = DatabaseStage(record, encoder, space, frequencies)
    if before:
        writer.drop_files(before.table.name)
    writer.create_stage(table)
    store_folder(writer, stage.save(directory))
    total, done, tokens = writer.document_count(), 0, Counter[str]()
    for rows in stage.rows(writer, settings, embedding):
        writer.add_stage_rows(table, rows)
        tokens += totals_of(row.tokens for row in rows)
        done += len(rows)
        progress("Writing vectors to the database", done, total, "documents")
    indexed = _is_indexable(table, done)
    if indexed:
        writer.index_stage(table)
    writer.set_settings(replace(record, tokens=tokens, indexed=indexed).setting())


def _follow(writer: Writer, stage: DatabaseStage, settings: Settings, embedding: Embedding) -> StageRecord:
    """Write the vectors of what has changed since the revision of a stage."""
    record, tokens = stage.record, Counter(stage.record.tokens)
    changed = [*writer.changed_ids(record.revision), *writer.removed_ids(record.revision)]
    tokens -= totals_of(writer.drop_stage_rows(record.table, changed))
    rows: Sequence[StageRow]
    for rows in stage.rows(writer, settings, embedding, record.revision):
        writer.add_stage_rows(record.table, rows)
        tokens += totals_of(row.tokens for row in rows)
    return replace(record, revision=writer.revision(), tokens=tokens)


def _fitted(writer: Writer, settings: Settings, embedding: Embedding) -> tuple[Encoder, WordFrequencies | None]:
    """Fit the encoder to the documents, and return it with the frequencies that it takes idf from."""
    frequencies = WordFrequencies.stored(writer) if settings.weights == "tfidf" else None
    if not learns(settings):
        none = np.empty(0, np.int64)
        return fit_encoder(writer, none, np.empty((0, embedding.dim), np.float32), settings, None), frequencies
    words = writer.vocabulary()
    word_ids = np.array([word.id for word in words], np.int64)
    vectors = embedding.gather([word.word for word in words], np.array([word.row for word in words], np.int64))
    idf = frequencies.idf(word_ids) if frequencies else None
    return fit_encoder(writer, word_ids, vectors, settings, idf), frequencies
