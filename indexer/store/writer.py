"""Write queries to the database."""

from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any

from sqlalchemy import bindparam, delete, func, select, update

from moverank.indexer.documents import NamedSource
from moverank.indexer.store.bulk_rows import Row, execute_many, insert_rows, insert_values
from moverank.indexer.store.queries import CHUNK
from moverank.indexer.store.reader import Reader
from moverank.indexer.store.schema import (
    DOCUMENTS,
    FIELDS,
    FILES,
    METADATA,
    PARTS,
    REMOVALS,
    REVISIONS,
    SETTINGS,
    SOURCES,
    VECTORS,
    WORDS,
)
from moverank.indexer.store.stage_writer import StageWriter
from moverank.indexer.store.state_reader import REMOVALS_FORGOTTEN
from moverank.rerank.runtime.batches import batches

_ROWS = 2000  # copied at a time


class Writer(Reader, StageWriter):
    """Reads and writes within one transaction."""

    def set_settings(self, settings: Mapping[str, Any]) -> None:
        """Write settings, new or changed."""
        self._connection.execute(delete(SETTINGS).where(SETTINGS.c.name.in_(list(settings))))
        self._insert(SETTINGS, [{"name": name, "value": value} for name, value in settings.items()])

    def next_revision(self) -> int:
        """Start the next revision and return its number."""
        revision = self.revision() + 1
        self._insert(REVISIONS, [{"number": revision, "token": token_hex(8)}])
        return revision

    def add_documents(self, rows: Sequence[Row]) -> list[int]:
        """Insert documents and return their new ids in the same order."""
        before = self._scalar(select(func.max(DOCUMENTS.c.id)))
        self._insert(DOCUMENTS, rows)
        added = select(DOCUMENTS.c.id).where(DOCUMENTS.c.id > before).order_by(DOCUMENTS.c.id)
        return list(self._connection.scalars(added))

    def update_documents(self, rows: Sequence[Row]) -> None:
        """Overwrite documents by their `id`."""
        self._update(DOCUMENTS, rows)

    def set_origins(self, rows: Sequence[Row]) -> None:
        """Write the `source` and `file` of documents by their `id`: their revision stays, since no text changed."""
        self._update(DOCUMENTS, rows)

    def set_keys(self, rows: Sequence[Row]) -> None:
        """Write the `key` of documents by their `id`."""
        self._update(DOCUMENTS, rows)

    def store_source(self, source: NamedSource) -> int:
        """Insert a source, or overwrite the one of the same place; return its id."""
        chosen = select(SOURCES.c.id).where(SOURCES.c.place == source.place)
        found = self._connection.scalar(chosen)
        if found is None:
            self._insert(SOURCES, [source._asdict()])
        else:
            self._update(SOURCES, [{"id": found, **source._asdict()}])
        return self._scalar(chosen)

    def add_words(self, rows: Sequence[tuple[int, str, int, int]]) -> None:
        """Insert words as (id, word, number of documents that have it, row of its vector).

        Words are never removed and there is one writer, so the ids that follow `last_word_id` are free.
        """
        insert_values(self._connection, WORDS, ("id", "word", "frequency", "row"), rows)

    def count_words(self, changes: Mapping[int, int]) -> None:
        """Add to the document frequencies of words, by id."""
        added = update(WORDS).values(frequency=WORDS.c.frequency + bindparam("change"))
        rows = [(change, id_) for id_, change in changes.items() if change]
        execute_many(self._connection, added.where(WORDS.c.id == bindparam("of")), ("change", "of"), rows)

    def set_word_rows(self, rows: Mapping[int, int]) -> None:
        """Write the vector rows of words, by id."""
        self._update(WORDS, [{"id": id_, "row": row} for id_, row in rows.items()])

    def mark_wordless(self, known_ids: Sequence[int], revision: int) -> int:
        """Mark every document but `known_ids` as wordless; return their number. All documents change at `revision`."""
        self._connection.execute(update(DOCUMENTS).values(wordless=True, revision=revision))
        self._update(DOCUMENTS, [{"id": id_, "wordless": False} for id_ in known_ids])
        return self.wordless_count()

    def add_parts(self, rows: Sequence[Row]) -> None:
        """Insert parts."""
        self._insert(PARTS, rows)

    def update_ranks(self, rows: Sequence[Row]) -> None:
        """Write the `rank` of parts by their `id`."""
        self._update(PARTS, rows)

    def drop_parts(self, document_ids: Sequence[int]) -> None:
        """Delete all parts of documents."""
        self._delete(PARTS, PARTS.c.document_id, document_ids)

    def replace_fields(self, document_ids: Sequence[int], rows: Sequence[Row]) -> None:
        """Replace all filter fields of documents."""
        self._delete(FIELDS, FIELDS.c.document_id, document_ids)
        self._insert(FIELDS, rows)

    def replace_vectors(self, document_ids: Sequence[int], rows: Sequence[Row]) -> None:
        """Replace the vectors of documents."""
        self._delete(VECTORS, VECTORS.c.document_id, document_ids)
        self._insert(VECTORS, rows)

    def remove_documents(self, ids: Sequence[int], revision: int) -> None:
        """Delete documents with all their rows, and record the removals at `revision`."""
        self._delete(DOCUMENTS, DOCUMENTS.c.id, ids)
        self._insert(REMOVALS, [{"document_id": id_, "revision": revision} for id_ in ids])

    def clear(self) -> None:
        """Delete all rows of a collection to which nothing was committed."""
        for table in reversed(METADATA.sorted_tables):
            self._connection.execute(delete(table))
        if self.shared:
            self.drop_stages(but=None)

    def copy_rows(self, source: Reader) -> None:
        """Insert all rows of another collection but its files, with their ids, into empty tables."""
        for table in METADATA.sorted_tables:
            if table is not FILES:
                for rows in batches(source.rows(table), _ROWS):
                    self._insert(table, [dict(row._mapping) for row in rows])  # noqa: SLF001 - it has no other name
        if self.shared:
            for table in (SOURCES, DOCUMENTS, PARTS):
                after = select(func.coalesce(func.max(table.c.id), 0) + 1).scalar_subquery()
                sequence = func.pg_get_serial_sequence(table.name, "id")
                self._connection.execute(select(func.setval(sequence, after, False)))

    def drop_files(self, folder: str | None = None) -> None:
        """Delete the files of a folder; None: all files."""
        statement = delete(FILES)
        self._connection.execute(statement if folder is None else statement.where(FILES.c.folder == folder))

    def add_file_block(self, folder: str, name: str, number: int, content: bytes) -> None:
        """Insert a block of a file of `folder`; the numbers of its blocks count from 0."""
        self._insert(FILES, [{"folder": folder, "name": name, "number": number, "content": content}])

    def forget_removals(self, until: int) -> None:
        """Delete the records of removals up to revision `until`, which no derived file needs any more."""
        self._connection.execute(delete(REMOVALS).where(REMOVALS.c.revision <= until))
        self.set_settings({REMOVALS_FORGOTTEN: until})

    def _insert(self, into: Any, rows: Sequence[Row]) -> None:
        insert_rows(self._connection, into, rows)

    def _update(self, of: Any, rows: Sequence[Row]) -> None:
        """Overwrite the columns that the rows name, all the same ones, by `id`."""
        if rows:
            bound = [{"of" if name == "id" else f"new_{name}": row[name] for name in row} for row in rows]
            values: dict[Any, Any] = {of.c[name]: bindparam(f"new_{name}") for name in rows[0] if name != "id"}
            self._connection.execute(update(of).where(of.c.id == bindparam("of")).values(values), bound)

    def _delete(self, of: Any, column: Any, values: Sequence[int]) -> None:
        for start in range(0, len(values), CHUNK):
            self._connection.execute(delete(of).where(column.in_(values[start : start + CHUNK])))
