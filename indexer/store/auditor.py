"""Reads all rows, for checks, and rewrites columns that can be derived from the others, for repairs."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from moverank.indexer.store.reader import DOCUMENT_COLUMNS, PART_COLUMNS, PartRow, StoredDocument
from moverank.indexer.store.rows import Values
from moverank.indexer.store.writer import Writer

_MOST_FAULTS = 20

BLOCK = 2000
"""Documents in a block."""

_FIRST, _LAST = -(2**63), 2**63 - 1  # of all ids, also those in a damaged database


class AuditedBlock(NamedTuple):
    """Rows of some documents."""

    documents: list[StoredDocument]
    """The documents without their parts and vectors."""
    parts: list[PartRow]
    """The parts, ordered by document and position."""
    fields: Sequence[Values]
    """The filter fields: document id, name, value."""
    vectors: dict[int, bytes]
    """The vectors by document id."""


class Auditor(Writer):
    """Reads and rewrites rows of all documents, within one transaction."""

    def faults(self) -> list[str]:
        """Return the faults that SQLite itself finds in pages, indexes, constraints and foreign keys."""
        if self.shared:
            return []
        found = self.rows.column(f"PRAGMA integrity_check({_MOST_FAULTS})")
        orphans = islice(self.rows.stream("PRAGMA foreign_key_check"), _MOST_FAULTS)
        missing = [f"row {row} of {name} belongs to no document" for name, row, *_ in orphans]
        return [str(line) for line in found if line != "ok"] + missing

    def blocks(self) -> Iterator[AuditedBlock]:
        """Iterate over all documents by id, in blocks; some also have rows of other tables without a document."""
        columns, first = DOCUMENT_COLUMNS.format(json=self.rows.json("metadata")), _FIRST
        while True:
            rows = self._between(f"{columns} FROM documents", "id", first, _LAST, f"ORDER BY id LIMIT {BLOCK}")
            last = rows[-1][0] if len(rows) == BLOCK else _LAST
            order = "ORDER BY document_id, position"
            parts = self._between(f"{PART_COLUMNS} FROM parts", "document_id", first, last, order)
            yield AuditedBlock(
                list(map(StoredDocument.of, rows)),
                list(map(PartRow._make, parts)),
                self._between("document_id, name, value FROM fields", "document_id", first, last),
                dict(self._between("document_id, vector FROM vectors", "document_id", first, last)),
            )
            if last == _LAST:
                return
            first = last + 1

    def _between(self, columns: str, id_: str, first: int, last: int, order: str = "") -> Sequence[Values]:
        """Return the rows of a SELECT whose `id_` is from `first` to `last`."""
        statement = f"SELECT {columns} WHERE {id_} BETWEEN :first AND :last {order}"
        return self.rows.all(statement, first=first, last=last)

    def set_frequencies(self, frequencies: dict[int, int]) -> None:
        """Write the document frequencies of words, by id."""
        self._update("words", [{"id": id_, "frequency": frequency} for id_, frequency in frequencies.items()])

    def set_wordless(self, flags: dict[int, bool], revision: int) -> None:
        """Write whether documents are wordless (`flags`, by id); they change at `revision`."""
        rows = [{"id": id_, "wordless": flag, "revision": revision} for id_, flag in flags.items()]
        self._update("documents", rows)

    def forget_digests(self, document_ids: list[int]) -> None:
        """Clear the digests of documents and their parts, so that the next run over their source writes them again."""
        for table, column in (("documents", "id"), ("parts", "document_id")):
            statement = f"UPDATE {table} SET digest = :none WHERE {column} IN :values"
            self.rows.execute_within(statement, document_ids, none=b"")
