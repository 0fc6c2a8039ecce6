"""What all queries by SQLAlchemy need: single values, many values, and rows without holding them all in memory."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from sqlalchemy import Connection, select, text

from moverank.indexer.store.entry_reader import EntryReader
from moverank.indexer.store.schema import SETTINGS
from moverank.indexer.store.size_reader import SizeReader

_ROWS = 1000  # fetched together

CHUNK = 5000  # values in one IN (...): SQLite allows 32,766


class Queries(EntryReader, SizeReader):
    """Queries to one state of the database, over one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def settings(self) -> dict[str, Any]:
        """Return every setting by name."""
        return {row.name: row.value for row in self._connection.execute(select(SETTINGS.c.name, SETTINGS.c.value))}

    def _selected(self, statement: str) -> Iterator[Any]:
        return iter(self._connection.execute(text(statement)).all())

    def _streamed(self, statement: str) -> Iterator[Any]:
        return self._stream(text(statement))

    def _scalar(self, statement: Any) -> int:
        return int(self._connection.scalar(statement) or 0)

    def _within(self, statement: Any, column: Any, values: Sequence[Any]) -> Iterator[Any]:
        """Select the rows whose column has one of many values, by several statements of at most `CHUNK` values."""
        for start in range(0, len(values), CHUNK):
            # All at once: fetching each row by itself takes twice as long.
            yield from self._connection.execute(statement.where(column.in_(values[start : start + CHUNK]))).all()

    def _tuples_within(self, statement: Any, column: Any, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Select as `_within` does, of rows as `_tuples` returns them; the statement has no other condition."""
        dialect = self._connection.dialect
        if dialect.name != "sqlite":
            yield from map(tuple, self._within(statement, column, values))
            return
        selected, chosen = (str(clause.compile(dialect=dialect)) for clause in (statement, column))
        driver: Any = self._connection.connection.driver_connection
        for start in range(0, len(values), CHUNK):
            some = values[start : start + CHUNK]
            marks = ", ".join("?" * len(some))
            with closing(driver.execute(f"{selected} WHERE {chosen} IN ({marks})", some)) as rows:
                yield from rows.fetchall()

    def _stream(self, statement: Any) -> Iterator[Any]:
        """Iterate over rows without holding them all in memory."""
        with self._connection.execute(statement, execution_options={"yield_per": _ROWS}) as rows:
            yield from rows

    def _tuples(self, statement: Any) -> Iterator[tuple[Any, ...]]:
        """Iterate over rows of numbers, texts and bytes, which need no conversion, without holding them all in memory.

        Reading from SQLite, SQLAlchemy takes several times as long as the database.
        """
        if self._connection.dialect.name != "sqlite":
            yield from map(tuple, self._stream(statement))
            return
        compiled = statement.compile(dialect=self._connection.dialect)
        driver: Any = self._connection.connection.driver_connection
        with closing(driver.execute(str(compiled), [compiled.params[name] for name in compiled.positiontup])) as rows:
            while some := rows.fetchmany(_ROWS):
                yield from some
