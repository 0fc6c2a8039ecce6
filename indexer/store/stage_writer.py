"""Write queries to tables of the first stage's vectors in PostgreSQL."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from moverank.indexer.store.queries import Queries
from moverank.indexer.store.stage_table import NAME, PREFIX, StageRow, StageTable

_PAGE = 8000  # bytes of a row that fits into a page, so that a scan reads no second table
_CONSTRUCTION = 64  # hnsw.ef_construction, at least twice the links


class StageWriter(Queries):
    """Makes, fills and drops tables of vectors.

    They have no foreign key: dropping one would wait for all readers of the documents.
    """

    def create_stage(self, table: StageTable) -> None:
        """Create an empty table, without its index."""
        column = f"vector {table.type}({table.dim})"
        columns = f"document_id integer PRIMARY KEY, tokens bytea NOT NULL, {column}"
        self._connection.execute(text(f"CREATE TABLE {table.quoted} ({columns})"))
        if (4 if table.kind == "vector" else 2) * table.dim < _PAGE:
            self._connection.execute(text(f"ALTER TABLE {table.quoted} ALTER vector SET STORAGE PLAIN"))

    def index_stage(self, table: StageTable) -> None:
        """Create the HNSW index of a table unless it exists."""
        options = f"m = {table.links}, ef_construction = {max(_CONSTRUCTION, 2 * (table.links or 0))}"
        self._connection.execute(
            text(
                f"CREATE INDEX IF NOT EXISTS {table.index} ON {table.quoted} "
                f"USING hnsw (vector {table.operators}) WITH ({options})"
            )
        )

    def add_stage_rows(self, table: StageTable, rows: Iterable[StageRow]) -> None:
        """Insert rows."""
        driver: Any = self._connection.connection.driver_connection
        with (
            driver.cursor() as cursor,
            cursor.copy(f"COPY {table.quoted} (document_id, tokens, vector) FROM STDIN (FORMAT BINARY)") as copy,
        ):
            copy.write(table.packed(rows))

    def drop_stage_rows(self, table: StageTable, document_ids: Sequence[int]) -> list[bytes]:
        """Delete the rows of documents, and return their tokens."""
        statement = text(
            f"DELETE FROM {table.quoted} WHERE document_id = ANY(CAST(:ids AS integer[])) RETURNING tokens"  # noqa: S608
        )
        return [bytes(row.tokens) for row in self._connection.execute(statement, {"ids": list(document_ids)})]

    def drop_stages(self, but: str | None) -> None:
        """Drop all tables of vectors but one, unless a reader has them open: then a later call does."""
        found = self._connection.scalars(
            text("SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND starts_with(tablename, :p)"),
            {"p": PREFIX},
        ).all()
        for name in found:
            if name == but or not NAME.fullmatch(name):
                continue
            try:
                with self._connection.begin_nested():
                    self._connection.execute(text(f'LOCK TABLE "{name}" IN ACCESS EXCLUSIVE MODE NOWAIT'))
                    self._connection.execute(text(f'DROP TABLE "{name}"'))
            except DBAPIError as error:
                if getattr(error.orig, "sqlstate", None) != "55P03":  # lock not available
                    raise
