"""Queries over all rows, for checks and repairs."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select

from moverank.indexer.store.bulk_rows import Row
from moverank.indexer.store.document_reader import DOCUMENT_COLUMNS, PART_COLUMNS
from moverank.indexer.store.schema import DOCUMENTS, FIELDS, PARTS, VECTORS, WORDS
from moverank.indexer.store.writer import Writer

_MOST_FAULTS = 20

BLOCK = 2000
"""Documents in a block."""


class AuditedBlock(NamedTuple):
    """Documents as rows of `DOCUMENT_COLUMNS`, parts of `PART_COLUMNS`, fields (document_id, name, value), and vectors.

    Parts are ordered by document and position; vectors are by document id.
    """

    documents: list[Any]
    parts: list[Any]
    fields: list[Any]
    vectors: dict[int, bytes]


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

    def blocks(self) -> Iterator[AuditedBlock]:
        """Iterate over all documents by id, in blocks; rows of other tables that belong to no document are in some."""
        last: int | None = None
        while True:
            documents = self._between(DOCUMENTS, DOCUMENT_COLUMNS, ("id",), last, None, BLOCK)
            end = documents[-1].id if len(documents) == BLOCK else None
            yield AuditedBlock(
                documents,
                self._between(PARTS, PART_COLUMNS, ("document_id", "position"), last, end),
                self._between(FIELDS, ("document_id", "name", "value"), ("document_id",), last, end),
                dict(map(tuple, self._between(VECTORS, ("document_id", "vector"), ("document_id",), last, end))),
            )
            if end is None:
                return
            last = end

    def _between(
        self,
        of: Any,
        names: Sequence[str],
        order: Sequence[str],
        after: int | None,
        until: int | None,
        limit: int | None = None,
    ) -> list[Any]:
        """Return rows in an order, the first column of which is above `after` and at most `until`."""
        column = of.c[order[0]]
        bounds = [column > after] if after is not None else []
        bounds += [column <= until] if until is not None else []
        statement = select(*(of.c[name] for name in names)).where(*bounds).order_by(*(of.c[name] for name in order))
        return list(self._connection.execute(statement.limit(limit)).all())

    def audited_words(self) -> list[Any]:
        """Return (id, word, row, frequency) of every word, in the order of ids."""
        columns = (WORDS.c.id, WORDS.c.word, WORDS.c.row, WORDS.c.frequency)
        return list(self._connection.execute(select(*columns).order_by(WORDS.c.id)).all())

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
