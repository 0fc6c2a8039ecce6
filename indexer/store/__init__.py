"""The truth of a collection: documents, parts, words and settings in an SQL database.

Many read, one writes; what a writer changes is one transaction. Only this package and `indexer.store.schema` speak SQL.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from json import JSONDecodeError
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError, OperationalError, SQLAlchemyError

from moverank.indexer.errors import CollectionError, LockedError
from moverank.indexer.store.auditor import Auditor, StoredDocument
from moverank.indexer.store.read_only import ReadOnlyFile
from moverank.indexer.store.reader import CountedPart, Known, Reader, Shown, StoredWord
from moverank.indexer.store.schema import enforce_keys, is_current, migrate, orphans
from moverank.indexer.store.writer import Row, Writer

__all__ = [
    "Auditor",
    "CountedPart",
    "Known",
    "Reader",
    "Row",
    "Shown",
    "Store",
    "StoredDocument",
    "StoredWord",
    "Writer",
    "explained",
    "sqlite_url",
]

_MEND = "put a backup of it in its place (`moverank backup` makes them), or index the texts again in a new place"


class Store:
    """An open database. Raises CollectionError for one that cannot be opened or was written by a newer version."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._open()
        with self._connect() as connection:
            ready = is_current(connection)
        if not ready:
            with self.migrating() as connection:
                migrate(connection)

    def _open(self) -> None:
        self._still = ReadOnlyFile.of(self._url)
        self._engine = _engine(self._url, self._still)

    def moved(self) -> bool:
        """Say whether a file that was read as one that nobody changes was changed; then it is opened again.

        What was read of it is worth nothing.
        """
        if self._still is None or not self._still.moved():
            return False
        self.close()
        self._open()
        return True

    def close(self) -> None:
        """Give up all connections."""
        self._engine.dispose()

    @contextmanager
    def _connect(self, *, write: bool = False) -> Iterator[Connection]:
        """Open one transaction; whatever the database refuses becomes one sentence."""
        options = {"moverank_write": write}
        with explained(), self._engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """Give a connection that may change tables; what refers to nothing afterwards undoes it all.

        Foreign keys are not enforced meanwhile. SQLite changes a table by making another in its place, and removing the
        first would remove all that belongs to its rows.
        """
        options = {"moverank_write": True, "moverank_keys": False}
        with explained(), self._engine.connect().execution_options(**options) as connection:
            try:
                with connection.begin():
                    yield connection
                    if orphans(connection):
                        raise CollectionError(
                            "the migration would have lost what belongs together: nothing was changed"
                        )
            finally:
                enforce_keys(connection)

    @contextmanager
    def reading(self) -> Iterator["Reader"]:
        """Give a consistent view: what is committed later is not seen in it."""
        with self._connect() as connection:
            yield Reader(connection)

    @contextmanager
    def writing(self) -> Iterator["Writer"]:
        """Give the one writer: committed at the end of the block, undone by any exception."""
        with self._connect(write=True) as connection:
            yield Writer(connection)

    @contextmanager
    def auditing(self, *, write: bool = False) -> Iterator["Auditor"]:
        """Give one that looks through everything, and may mend it where it may `write`."""
        with self._connect(write=write) as connection:
            yield Auditor(connection)

    def copy_to(self, path: Path) -> None:
        """Copy the database as it is at one instant, while others may write."""
        with self._connect() as connection, closing(sqlite3.connect(path)) as target:
            source: Any = connection.connection.driver_connection
            source.backup(target)


@contextmanager
def explained() -> Iterator[None]:
    """Turn whatever the database refuses into one sentence: LockedError or CollectionError."""
    try:
        yield
    except (OperationalError, sqlite3.OperationalError) as error:
        if "locked" in _cause(error):
            raise LockedError("another process is writing to the collection: try again when it is done") from error
        raise CollectionError(f"the database cannot be used: {_cause(error)}") from error
    except (DatabaseError, sqlite3.DatabaseError) as error:
        raise CollectionError(f"the database is damaged or not one of ours: {_cause(error)}; {_MEND}") from error
    except JSONDecodeError as error:
        raise CollectionError(f"the database is damaged: it holds JSON that is none ({error}); {_MEND}") from error
    except SQLAlchemyError as error:
        raise CollectionError(f"the database cannot be used: {error}") from error


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file, whatever characters its path has."""
    return URL.create("sqlite", database=str(path)).render_as_string()


def _engine(url: str, still: "ReadOnlyFile | None") -> Engine:
    """Make an engine; on SQLite with real transactions, WAL and foreign keys."""
    engine = create_engine(url, creator=still.connect) if still else create_engine(url)
    if engine.dialect.name != "sqlite":
        return engine
    pragmas = ["busy_timeout = 5000", "foreign_keys = ON"]
    pragmas += [] if still else ["journal_mode = WAL", "synchronous = FULL"]

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
            connection.exec_driver_sql("PRAGMA foreign_keys = OFF")  # within a transaction it would be passed over
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _cause(error: Exception) -> str:
    """Return what SQLite said, through SQLAlchemy or by itself."""
    return str(getattr(error, "orig", error))
