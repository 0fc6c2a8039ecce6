"""Queries over all rows, for checks and repairs."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import select

from moverank.indexer.store.bulk_rows import Row
from moverank.indexer.store.document_reader import DOCUMENT_COLUMNS, PART_COLUMNS, StoredDocument, stored_document
from moverank.indexer.store.schema import DOCUMENTS, FIELDS, PARTS, VECTORS, WORDS
from moverank.indexer.store.writer import Writer

_MOST_FAULTS = 20


class Auditor(Writer):
    """Reads all rows, and rewrites columns that can be derived from the others."""

    def faults(self) -> list[str]:
        """Return the faults that SQLite itself finds in pages, indexes, constraints and foreign keys."""
        if self._connection.dialect.name != "sqlite":
            return []
        found = self._connection.exec_driver_sql(f"PRAGMA integrity_check({_MOST_FAULTS})").fetchall()
        faults = [str(line) for (line,) in found if line != "ok"]
        orphans = self._connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(_MOST_FAULTS)
        return faults + [f"row {row} of {name} belongs to no document" for name, row, *_ in orphans]

    def stored(self) -> Iterator[StoredDocument]:
        """Iterate over all documents with their parts, by id."""
        order = (PARTS.c.document_id, PARTS.c.position)
        parts = self._stream(select(*(PARTS.c[name] for name in PART_COLUMNS)).order_by(*order))
        pending = next(parts, None)
        vectors = self._stream(select(VECTORS.c.document_id, VECTORS.c.vector).order_by(VECTORS.c.document_id))
        vector = next(vectors, None)
        for row in self._stream(select(*(DOCUMENTS.c[name] for name in DOCUMENT_COLUMNS)).order_by(DOCUMENTS.c.id)):
            own: list[Any] = []
            while pending is not None and pending.document_id <= row.id:
                if pending.document_id == row.id:
                    own.append(pending)
                pending = next(parts, None)
            while vector is not None and vector.document_id < row.id:
                vector = next(vectors, None)
            own_vector = vector.vector if vector is not None and vector.document_id == row.id else None
            yield stored_document(row, own, own_vector)

    def all_fields(self) -> dict[int, set[tuple[str, str]]]:
        """Return the filter fields (name, value) of every document, by document id."""
        found: dict[int, set[tuple[str, str]]] = {}
        for id_, name, value in self._stream(select(FIELDS.c.document_id, FIELDS.c.name, FIELDS.c.value)):
            found.setdefault(id_, set()).add((name, value))
        return found

    def all_frequencies(self) -> dict[int, int]:
        """Return the stored document frequency of every word, by id."""
        return dict(map(tuple, self._stream(select(WORDS.c.id, WORDS.c.frequency))))

    def set_counts(self, rows: Sequence[Row]) -> None:
        """Write the `words` and `counts` of parts by their `id`."""
        self._update(PARTS, rows)

    def set_frequencies(self, frequencies: dict[int, int]) -> None:
        """Write the document frequencies of words, by id."""
        self._update(WORDS, [{"id": id_, "frequency": frequency} for id_, frequency in frequencies.items()])

    def set_wordless(self, flags: dict[int, bool], revision: int) -> None:
        """Write whether documents are wordless (`flags`, by id); they change at `revision`."""
        rows = [{"id": id_, "wordless": flag, "revision": revision} for id_, flag in flags.items()]
        self._update(DOCUMENTS, rows)

    def forget_digests(self, document_ids: list[int]) -> None:
        """Clear the digests of documents and their parts, so that the next run over their source writes them again."""
        self._update(DOCUMENTS, [{"id": id_, "digest": b""} for id_ in document_ids])
        part_ids = [part.id for parts in self.parts(document_ids).values() for part in parts]
        self._update(PARTS, [{"id": id_, "digest": b""} for id_ in part_ids])
