"""Rows in PostgreSQL: statements that differ there, and the files of word vectors, in blocks, for all machines."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import TextClause, text

from moverank.indexer.files.atomic_write import atomic_directory, durable_file
from moverank.indexer.store.engines import ConnectionRows
from moverank.indexer.store.rows import Values

_BLOCK = 8 * 2**20  # bytes of a row


class PostgresRows(ConnectionRows):
    """Reads and writes rows of PostgreSQL over a connection of SQLAlchemy."""

    shared = True

    def json(self, column: str) -> str:
        """Return the SQL of a JSON column as text."""
        return f"CAST({column} AS TEXT)"

    def insert(self, table: str, names: Sequence[str], rows: Iterable[Values]) -> None:
        """Insert rows of values in the order of the columns `names` with COPY."""
        columns = ", ".join(f'"{name}"' for name in names)
        driver: Any = self.connection.connection.driver_connection
        with driver.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def _listed(self, statement: str) -> TextClause:
        """Return a statement with `IN :values`, which gets one array."""
        return text(statement.replace("IN :values", "= ANY(:values)"))

    def free_ids(self, tables: Sequence[str]) -> None:
        """Let the ids of new rows follow those that were inserted into tables."""
        for table in tables:
            after = f"(SELECT coalesce(max(id), 0) + 1 FROM {table})"
            self.all(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {after}, false)")

    def store_folder(self, folder: Path) -> None:
        """Store the files in `folder` under its name, and remove all others."""
        self.execute("DELETE FROM files")
        for path in sorted(folder.iterdir()):
            with path.open("rb") as file:
                number = 0
                while (block := file.read(_BLOCK)) or not number:
                    self.insert(
                        "files", ("folder", "name", "number", "content"), [(folder.name, path.name, number, block)]
                    )
                    number += 1

    def fetch_folder(self, folder: Path) -> bool:
        """Write the files that are stored under the name of `folder` to it; return whether there are any.

        Raises OSError, unless another process has written the folder meanwhile.
        """
        named = "SELECT DISTINCT name FROM files WHERE folder = :folder ORDER BY name"
        names = self.column(named, folder=folder.name)
        try:
            if names:
                with atomic_directory(folder, replace=False) as new:
                    for name in names:
                        with durable_file(new / Path(name).name) as file:
                            for block in self._blocks(folder.name, name):
                                file.write(block)
        except OSError:
            if not folder.is_dir():
                raise
        return bool(names)

    def _blocks(self, folder: str, name: str) -> Iterator[bytes]:
        own = "FROM files WHERE folder = :folder AND name = :name"
        for number in self.column(f"SELECT number {own} ORDER BY number", folder=folder, name=name):
            block = f"SELECT content {own} AND number = :number"
            yield self.column(block, folder=folder, name=name, number=number)[0]
