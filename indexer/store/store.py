"""An open database: connections, transactions and migrations."""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from moverank.indexer.errors import CollectionError
from moverank.indexer.store.auditor import Auditor
from moverank.indexer.store.database_errors import database_errors
from moverank.indexer.store.read_only import ReadOnlyFile
from moverank.indexer.store.reader import Reader
from moverank.indexer.store.schema import enforce_keys, is_current, migrate, orphans
from moverank.indexer.store.writer import Writer


class Store:
    """An open database. Raises CollectionError for one that cannot be opened or was written by a newer version."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._open()
        with self._connect() as connection:
            ready = is_current(connection)
        if not ready:
            if self._read_only:
                raise CollectionError(
                    f"{self._read_only.path} was written by an earlier version and is read-only: open the collection "
                    "once with write permission, or copy it, so that it can be migrated"
                )
            with self.migrating() as connection:
                migrate(connection)

    def _open(self) -> None:
        self._read_only = ReadOnlyFile.of(self._url)
        self._engine = _engine(self._url, self._read_only)

    def reopen_if_changed(self) -> bool:
        """Reopen a file that was opened as immutable and has changed since; return whether it has.

        Data read from it before may then be invalid.
        """
        if self._read_only is None or not self._read_only.changed():
            return False
        self.close()
        self._open()
        return True

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def _connect(self, *, write: bool = False) -> Iterator[Connection]:
        """Open one transaction; errors become those of `database_errors`."""
        options = {"moverank_write": write}
        with database_errors(), self._engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """Open a transaction that may change tables; it is rolled back if it leaves orphaned rows.

        Foreign keys are not enforced meanwhile: SQLite changes a table by replacing it, and removing the old one would
        cascade to the rows that refer to it.
        """
        options = {"moverank_write": True, "moverank_keys": False}
        with database_errors(), self._engine.connect().execution_options(**options) as connection:
            try:
                with connection.begin():
                    yield connection
                    if orphans(connection):
                        raise CollectionError("the migration would have orphaned rows of a table: nothing was changed")
            finally:
                enforce_keys(connection)

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Open a consistent view, in which later commits are not visible."""
        with self._connect() as connection:
            yield Reader(connection)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """Open the writer's transaction: committed at the end of the block, rolled back by any exception."""
        with self._connect(write=True) as connection:
            yield Writer(connection)

    @contextmanager
    def trying(self) -> Iterator[Writer]:
        """Open the writer's transaction, and undo everything at the end of the block."""
        with self._connect(write=True) as connection:
            yield Writer(connection)
            connection.rollback()

    @contextmanager
    def auditing(self, *, write: bool = False) -> Iterator[Auditor]:
        """Open a view of every row for checks, and with `write` for repairs."""
        with self._connect(write=write) as connection:
            yield Auditor(connection)

    def copy_to(self, path: Path) -> None:
        """Copy one consistent state of the database, even while another process writes."""
        with self._connect() as connection, closing(sqlite3.connect(path)) as target:
            source: Any = connection.connection.driver_connection
            source.backup(target)


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file, with special characters of its path escaped."""
    return URL.create("sqlite", database=str(path)).render_as_string()


def _has_temporary_files() -> bool:
    """Return whether a directory for temporary files is writable: SQLite fails where it needs one and has none."""
    try:
        tempfile.gettempdir()
    except OSError:
        return False
    return True


def _engine(url: str, read_only: ReadOnlyFile | None) -> Engine:
    """Return an engine; on SQLite with explicit transactions, WAL and foreign keys."""
    engine = create_engine(url, creator=read_only.connect) if read_only else create_engine(url)
    if engine.dialect.name != "sqlite":
        return engine
    pragmas = ["busy_timeout = 5000", "foreign_keys = ON"]
    pragmas += [] if read_only else ["journal_mode = WAL", "synchronous = FULL"]
    pragmas += [] if _has_temporary_files() else ["temp_store = MEMORY"]

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the driver's implicit transactions would commit before a CREATE TABLE
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        write = options.get("moverank_write")
        if not options.get("moverank_keys", True):
            connection.exec_driver_sql("PRAGMA foreign_keys = OFF")  # before BEGIN: a no-op within a transaction
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine
