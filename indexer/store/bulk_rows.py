"""Many rows at once, by the fastest way of each database, without SQLAlchemy's processing of each value.

That processing takes longer than the database itself, and there are millions of rows.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

from sqlalchemy import JSON, Connection, insert

from moverank.indexer.json_text import json_encoder

_TOGETHER = 50
"""Rows in one INSERT: more are no faster. SQLite before 3.32 takes 999 values, and no table has 20 columns."""

Row = Mapping[str, Any]
"""A row to write, by column names."""


def insert_rows(connection: Connection, table: Any, rows: Sequence[Row]) -> None:
    """Insert rows, all with the same columns."""
    if rows:
        names = list(rows[0])
        insert_values(connection, table, names, _values(table, names, rows))


def insert_values(connection: Connection, table: Any, names: Sequence[str], values: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows of values that the driver takes, in the order of `names`: with COPY if the database is PostgreSQL."""
    if connection.dialect.name == "postgresql":
        _copy(connection, table, names, values)
    else:
        whole = len(values) // _TOGETHER * _TOGETHER
        _insert_together(connection, table, names, values[:whole])
        execute_many(connection, insert(table), names, values[whole:])


def _insert_together(connection: Connection, table: Any, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows in SQLite, `_TOGETHER` by each statement: words take half the time that they take one by one."""
    if not rows:
        return
    quoted: Callable[[str], str] = connection.dialect.identifier_preparer.quote
    one = f"({', '.join('?' for _ in names)})"
    many = ", ".join([one] * _TOGETHER)
    statement = f"INSERT INTO {quoted(table.name)} ({', '.join(map(quoted, names))}) VALUES {many}"  # noqa: S608 - ours
    driver: Any = connection.connection.driver_connection
    for start in range(0, len(rows), _TOGETHER):
        driver.execute(statement, tuple(chain.from_iterable(rows[start : start + _TOGETHER]))).close()


def execute_many(connection: Connection, statement: Any, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Execute a statement with each of many rows of values that the driver takes, in the order of their `names`."""
    if not rows:
        return
    compiled = statement.compile(dialect=connection.dialect, column_keys=list(names))
    if compiled.positional:
        order = [names.index(name) for name in compiled.positiontup]
        in_order = order == list(range(len(names)))
        connection.exec_driver_sql(str(compiled), rows if in_order else [tuple(row[i] for i in order) for row in rows])
    else:
        connection.execute(statement, [dict(zip(names, row, strict=True)) for row in rows])


def _values(table: Any, names: Sequence[str], rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    """Return the values of rows as the driver takes them."""
    columns: list[Any] = []
    for name in names:
        values: Any = map(itemgetter(name), rows)
        columns.append(map(_json, values) if isinstance(table.c[name].type, JSON) else values)
    return list(zip(*columns, strict=True))


def _copy(connection: Connection, table: Any, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    quoted: Callable[[str], str] = connection.dialect.identifier_preparer.quote
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor:
        statement = f"COPY {quoted(table.name)} ({', '.join(map(quoted, names))}) FROM STDIN"
        with cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)


_json = json_encoder()
