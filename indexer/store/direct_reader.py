"""Reads a SQLite file by the standard library alone: importing SQLAlchemy takes longer than a few statements."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from json import JSONDecodeError
from pathlib import Path
from typing import Any
from urllib.parse import quote

from moverank.indexer.files.directory import DATABASE
from moverank.indexer.files.location import database_url, is_cluster, shown
from moverank.indexer.store.entry_reader import EntryReader
from moverank.indexer.store.read_only import is_writable
from moverank.indexer.store.schema_version import SCHEMA
from moverank.indexer.store.size_reader import SizeReader
from moverank.indexer.store.stored_metadata import DamagedDocument


class DirectReader(EntryReader, SizeReader):
    """Reads one state of a SQLite file, in the open transaction of `connection`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def settings(self) -> dict[str, Any]:
        """Return every setting by name."""
        rows = self._selected("SELECT name, value FROM settings")
        return {name: json.loads(value) if isinstance(value, str) else value for name, value in rows}

    def _selected(self, statement: str) -> Iterator[Any]:
        return self._connection.execute(statement)


@contextmanager
def direct_reader(directory: Path) -> Iterator[DirectReader | None]:
    """Open a consistent view of the database of a collection's directory; None where only `Store` can.

    That is a shared or read-only database, one of another schema, and one that cannot be opened, for which `Store` has
    the error. Raises CollectionError as `database_errors` does.
    """
    connection = None if is_cluster(directory) or database_url(directory) else _opened(directory / DATABASE)
    if connection is None:
        yield None
        return
    try:
        with closing(connection):
            yield DirectReader(connection)
    except (sqlite3.Error, JSONDecodeError, DamagedDocument):
        from moverank.indexer.store.database_errors import database_errors  # it imports SQLAlchemy

        with database_errors(shown(directory)):
            raise


def _opened(path: Path) -> sqlite3.Connection | None:
    """Open a transaction in a file; None unless it is writable and has the current schema."""
    if not is_writable(path):
        return None
    try:
        connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=rw", uri=True, isolation_level=None)
    except sqlite3.Error:
        return None
    try:
        connection.execute("BEGIN")
        if connection.execute("SELECT version_num FROM alembic_version").fetchone() == (SCHEMA,):
            return connection
    except sqlite3.Error:
        pass
    connection.close()
    return None
