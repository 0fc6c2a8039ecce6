"""Keeps the table of documents' vectors up to date, in the transactions that change documents, settings or vectors."""

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

from moverank.indexer.errors import VectorsError
from moverank.indexer.options import Progress, silent
from moverank.indexer.pgvector.fits import SETTING, Fit, FitRecord, open_fit, restored_fit, totals_of
from moverank.indexer.pgvector.requirements import extension_schema, new_table
from moverank.indexer.pgvector.vector_table import PREFIX, drop_tables
from moverank.indexer.settings import DATABASE, Settings
from moverank.indexer.snapshot import compaction
from moverank.indexer.snapshot.encoder_fit import fit_encoder, known_words, learns, stored_frequencies
from moverank.indexer.snapshot.snapshot_files import made_for
from moverank.indexer.store import Reader, Store, Writer
from moverank.indexer.store.stored_files import store_folder
from moverank.rerank.bags.weights import Frequencies
from moverank.rerank.encoders.encoder import Encoder
from moverank.rerank.words.embedding import Embedding


class TableUpkeep:
    """The upkeep of the table of a collection; it does nothing where the database is a file.

    `directory`, `settings` and `embedding` are the collection's; `progress` is called while vectors are written. The
    methods raise UsageError for vectors that cannot be stored, CollectionError without pgvector, and VectorsError for a
    damaged first stage.
    """

    def __init__(
        self, directory: Path, settings: Settings, embedding: Embedding | None, progress: Progress = silent
    ) -> None:
        self._directory, self._settings, self._progress = directory, settings, progress
        self._embedding = embedding if settings.first_stage_in == DATABASE else None
        self._opened: Fit | None = None  # kept for the next transaction

    def follow(self, writer: Writer, *, fit: bool = False, again: bool = False) -> None:
        """Bring the table to the state of `writer`, in its transaction.

        An encoder that learns is only fitted with `fit`, and to more than a few documents; `again` fits it to any.
        """
        if not writer.shared:
            return
        stored, embedding = FitRecord.of(writer.settings()), self._embedding
        if embedding is None:
            _forget(writer, stored)
            return
        record = None if again else self._current(writer, stored, embedding)
        if record is None and self._can_be_made(writer, fit=fit, again=again):
            record = self._new(writer, stored, embedding)
        if record is None:
            _forget(writer, stored)
            return
        if record.revision != writer.revision():
            record = self._catch_up(writer, record, embedding)
        # With few documents, searches compare all vectors.
        has_index = record.indexed or record.table.links is None
        if fit and not has_index and writer.document_count() > compaction.SMALL_TAIL:
            record.table.create_index(writer.rows)
            record = replace(record, indexed=True)
        if record != stored:
            writer.set_settings(record.setting())

    def keep(self, store: Store, *, refit: bool = False, renew: bool = False) -> None:
        """Fit and fill the table if necessary, and drop replaced tables; the caller holds the writer's lock.

        `refit`: fit it in any case. `renew`: write it again, see `renew`.
        """
        if not store.shared:
            return
        with store.writing() as writer:
            if renew:
                self.renew(writer, writer, self._directory)
            self.follow(writer, fit=True, again=refit)
            current = FitRecord.of(writer.settings())
            drop_tables(writer.rows, but=current.table.name if current else None)
        for folder in self._directory.glob(f"{PREFIX}*"):  # open readers keep the files
            if current is None or folder.name != current.table.name:
                shutil.rmtree(folder, ignore_errors=True)

    def renew(self, writer: Writer, source: Reader, origin: Path) -> None:
        """Write a new table by the encoder of the current fit, or by a new fit if that is lost.

        The encoder comes from the collection that `source` reads in the directory `origin`: this collection, or
        the collection that it is a copy of.
        """
        record, embedding = FitRecord.of(writer.settings()), self._embedding
        if record and embedding and record.made_for == made_for(self._settings, embedding):
            try:
                fit = restored_fit(source, origin, self._settings, record)
            except VectorsError:
                fit = None
            writer.set_settings(self._new(writer, record, embedding, fit).setting())
        else:
            _forget(writer, record)
        self.follow(writer, fit=True)

    def _current(self, writer: Writer, record: FitRecord | None, embedding: Embedding) -> FitRecord | None:
        """Return the record if its vectors fit the settings; the dimension of given vectors may have changed."""
        if record is None or record.made_for != made_for(self._settings, embedding):
            return None
        space = self._settings.space(writer.vector_dim())
        return record if space is None or space.dim == record.table.dim else None

    def _can_be_made(self, writer: Writer, *, fit: bool, again: bool) -> bool:
        """Return whether the table can be made: with an encoder that learns, only on request."""
        space = self._settings.space(writer.vector_dim())
        if space is not None:
            return space.dim > 0
        if self._settings.weights != "tfidf" and not learns(self._settings):
            return True
        documents = writer.document_count() - writer.wordless_count()
        return fit and documents > (0 if again else compaction.SMALL_TAIL)

    def _new(
        self, writer: Writer, before: FitRecord | None, embedding: Embedding, source: Fit | None = None
    ) -> FitRecord:
        """Fit an encoder, unless `source` has one, and return the record of a new table, which is empty."""
        extension = extension_schema(writer, self._settings)
        _forget(writer, before)
        space = self._settings.space(writer.vector_dim())
        encoder, frequencies = (source.encoder, source.frequencies) if source else (None, None)
        if space is None and encoder is None:
            encoder, frequencies = self._fitted(writer, embedding)
        dim = encoder.dim if encoder else space.dim if space else 0
        table = new_table(self._settings, dim, extension, products=space is not None and space.products)
        record = FitRecord(table, 0, made_for(self._settings, embedding), {})
        self._opened = Fit(record, encoder, space, frequencies)
        table.create(writer.rows)
        store_folder(writer, self._opened.save(self._directory))
        return record

    def _fitted(self, writer: Writer, embedding: Embedding) -> tuple[Encoder, Frequencies | None]:
        """Fit the encoder to the documents, and return it with the frequencies that its idf is computed from."""
        words, weights = known_words(writer.all_words(known=True), embedding), self._settings.weights
        frequencies = stored_frequencies(writer)
        factors = words.factors(weights, embedding, lambda: frequencies)
        encoder = fit_encoder(writer, words, self._settings, factors)
        return encoder, frequencies if weights == "tfidf" else None

    def _catch_up(self, writer: Writer, record: FitRecord, embedding: Embedding) -> FitRecord:
        """Write the vectors of documents changed since a record's revision, and return the record of this revision."""
        fit, table, tokens, since = self._fit(writer, record), record.table, Counter(record.tokens), record.revision
        total, done = writer.document_count(), 0
        if since:  # else the table is empty
            changed = [*writer.changed_ids(since), *writer.removed_ids(since)]
            tokens -= totals_of(table.remove(writer.rows, changed))
            total = len(changed)
        for rows in fit.rows(writer, self._settings, embedding, since):
            table.add(writer.rows, rows)
            tokens += totals_of(row.tokens for row in rows)
            done += len(rows)
            self._progress("Writing vectors to the database", done, total, "documents")
        return replace(record, revision=writer.revision(), tokens=tokens)

    def _fit(self, writer: Writer, record: FitRecord) -> Fit:
        """Return the fit of a record, which may have been opened in a transaction before."""
        if self._opened is None or self._opened.record.table != record.table:
            self._opened = open_fit(writer, self._directory, self._settings, record)
        return self._opened


def _forget(writer: Writer, record: FitRecord | None) -> None:
    """Delete a record and its files, but not its table: readers may have it open."""
    if record:
        writer.drop_files(record.table.name)
        writer.set_settings({SETTING: {}})
