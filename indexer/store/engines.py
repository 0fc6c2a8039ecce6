"""SQLAlchemy's rows and engines of SQLite files; database errors become errors of `indexer`."""

import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from json import JSONDecodeError
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, CursorResult, Engine, bindparam, create_engine, event, make_url, text
from sqlalchemy.exc import DatabaseError, OperationalError, PendingRollbackError, SQLAlchemyError

from moverank.indexer.errors import CollectionError, ConnectionLost, LockedError, NoPermission
from moverank.indexer.store.rows import (
    DamagedDocument,
    Rows,
    Values,
    check_content,
    chunks,
    connect_file,
    interruptible,
    is_interruption,
    is_writable,
)
from moverank.rerank.runtime.deadline import PatientLock

_FETCHED = 1000  # rows fetched together

_WRITER_CACHE = 64 << 10  # KiB: rows of many documents change the same pages of indexes

_REPAIR_HINT = "put a backup of it in its place (`moverank backup` makes them), or index the texts again in a new place"
_LOST = "the connection to the database was lost: what was not committed was not changed; run it again"

_ENDED = ("08", "57P", "25P03")
"""SQLSTATEs of PostgreSQL, by their beginnings: connection exceptions, and sessions ended by a person or a limit."""

_NO_PERMISSION, _LOCKED = "42501", "55P03"

_UNREACHABLE = (
    "connection failed",
    "connection is bad",
    "connection timeout",
    "failed to resolve host",
    "invalid connection option",
    'missing "="',
)
"""How psycopg's messages begin if it could not connect."""

_Result = TypeVar("_Result")


class ConnectionRows(Rows):
    """Reads and writes rows over a connection of SQLAlchemy.

    Several threads may read: each statement, and each portion of a stream, runs under `lock`.
    """

    lock: PatientLock

    def __init__(self, connection: Connection) -> None:
        self.connection, self.shared = connection, connection.dialect.name != "sqlite"
        self.lock = PatientLock()

    def all(self, statement: str, **parameters: Any) -> Sequence[Values]:
        """Return all rows that a SELECT finds, or another statement returns."""
        with self.lock:
            return self.connection.execute(text(statement), parameters).all()

    def stream(self, statement: str, **parameters: Any) -> Iterator[Values]:
        """Iterate over the rows that a SELECT finds without holding them all in memory."""
        with self.lock:
            rows = self.connection.execute(text(statement), parameters, execution_options={"yield_per": _FETCHED})
        try:
            while True:
                with self.lock:
                    some = rows.fetchmany(_FETCHED)
                if not some:
                    return
                yield from some
        finally:
            with self.lock.held():
                rows.close()

    def execute(self, statement: str, **parameters: Any) -> None:
        """Execute a statement that returns no rows."""
        with self.lock:
            self.connection.execute(text(statement), parameters)

    def execute_within(self, statement: str, values: Sequence[Any], **parameters: Any) -> None:
        """Execute a statement with `IN :values` that returns no rows, for at most `CHUNK` values at a time."""
        for some in chunks(values):
            self._execute_in(statement, some, parameters)

    def execute_each(self, statement: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Execute a statement with the parameters of each of many rows."""
        if rows:
            self.connection.execute(text(statement), rows)

    def insert(self, table: str, names: Sequence[str], rows: Iterable[Values]) -> None:
        """Insert rows of values in the order of the columns `names`: into PostgreSQL with COPY."""
        columns = ", ".join(f'"{name}"' for name in names)
        if self.shared:
            driver: Any = self.connection.connection.driver_connection
            with driver.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        elif listed := list(rows):
            marks = ", ".join("?" * len(names))
            self.connection.exec_driver_sql(f"INSERT INTO {table} ({columns}) VALUES ({marks})", listed)

    def _in(self, statement: str, values: Sequence[Any], parameters: dict[str, Any]) -> Sequence[Values]:
        with self.lock:
            return self._execute_in(statement, values, parameters).all()

    def _execute_in(self, statement: str, values: Sequence[Any], parameters: dict[str, Any]) -> CursorResult[Any]:
        """Execute a statement with `IN :values`, which PostgreSQL gets as one array, SQLite as separate values."""
        if self.shared:
            listed = text(statement.replace("IN :values", "= ANY(:values)"))
        else:
            listed = text(statement).bindparams(bindparam("values", expanding=True))
        return self.connection.execute(listed, {"values": list(values), **parameters})


@dataclass(frozen=True, slots=True)
class ReadOnlyFile:
    """A SQLite file without write permission: on a read-only file system, or another user's.

    SQLite in WAL mode creates two files beside the database. If it cannot, and there is no write-ahead log, the file is
    complete by itself and is opened as `immutable`; SQLite then assumes that the file does not change, so `changed`
    compares its `state`: size and modification time (ns) on opening, None with a log.
    """

    path: Path
    state: tuple[int, int] | None

    @classmethod
    def of(cls, url: str) -> "ReadOnlyFile | None":
        """Return the file of a URL; None if it is writable, or the URL names no SQLite file."""
        made = make_url(url)
        path = Path(made.database or "")
        if made.get_backend_name() != "sqlite" or not made.database or not path.is_file() or is_writable(path):
            return None
        log = path.with_name(f"{path.name}-wal")
        written = log.exists() and log.stat().st_size > 0
        return cls(path, None if written else _state(path))

    def connect(self) -> sqlite3.Connection:
        """Open the file read-only; as immutable unless there is a write-ahead log."""
        return connect_file(self.path, "ro" if self.state is None else "ro&immutable=1")

    def changed(self) -> bool:
        """Return whether the file has changed since it was opened as immutable."""
        return self.state is not None and self.state != _state(self.path)


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file, with special characters of its path escaped."""
    return URL.create("sqlite", database=str(path)).render_as_string()


def sqlite_engine(url: str, read_only: ReadOnlyFile | None) -> Engine:
    """Return an engine with explicit transactions, WAL and foreign keys; `read_only`: the file, if it is read-only."""
    own = {"creator": read_only.connect} if read_only else {}
    engine = create_engine(url, hide_parameters=True, **own)  # messages are logged
    database = engine.url.database
    pragmas = ["busy_timeout = 5000", "foreign_keys = ON"]
    pragmas += [] if read_only else ["journal_mode = WAL", "synchronous = FULL"]
    pragmas += [] if _has_temporary_files() else ["temp_store = MEMORY"]

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        with ExitStack() as opened:
            opened.callback(connection.close)  # SQLAlchemy does not close a connection that is refused here
            connection.isolation_level = None  # the driver's implicit transactions would commit before a CREATE TABLE
            interruptible(connection)
            if database:
                check_content(connection, Path(database))
            for pragma in pragmas:
                connection.execute(f"PRAGMA {pragma}").close()
            opened.pop_all()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        write = options.get("moverank_write")
        if not options.get("moverank_keys", True):
            connection.exec_driver_sql("PRAGMA foreign_keys = OFF")  # before BEGIN: a no-op within a transaction
        if write:
            connection.exec_driver_sql(f"PRAGMA cache_size = -{_WRITER_CACHE}")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def copy_file(connection: Connection, path: Path) -> None:
    """Copy one consistent state of a SQLite database to a file, even while another process writes."""
    source: Any = connection.connection.driver_connection
    with closing(sqlite3.connect(path)) as target:
        source.backup(target)


def _has_temporary_files() -> bool:
    """Return whether a directory for temporary files is writable: SQLite fails where it needs one and has none."""
    try:
        tempfile.gettempdir()
    except OSError:
        return False
    return True


def repeated(work: Callable[[], _Result]) -> _Result:
    """Return the result of `work`, which may run twice: it is repeated once if the connection was lost."""
    try:
        return work()
    except ConnectionLost:
        return work()


@contextmanager
def database_errors(place: str = "") -> Iterator[None]:
    """Turn errors of SQLAlchemy, SQLite and psycopg into CollectionError, LockedError or ConnectionLost.

    The message about a damaged document names the collection at `place`.
    """
    of = f" of {place}" if place else ""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        if is_interruption(getattr(error, "orig", error)):
            raise KeyboardInterrupt from error
        raise _translated(error) from error
    except JSONDecodeError as error:
        raise CollectionError(
            f"the database{of} is damaged: it holds invalid JSON ({error}); {_REPAIR_HINT}"
        ) from error
    except DamagedDocument as error:
        raise CollectionError(f"the database{of} is damaged: {error}; {_REPAIR_HINT}") from error
    except Exception as error:
        if not type(error).__module__.startswith("psycopg"):  # SQLAlchemy does not wrap errors of reading rows
            raise
        raise _translated(error) from error


def _translated(error: Exception) -> CollectionError:
    cause, driver = _cause(error), getattr(error, "orig", error)
    if isinstance(driver, sqlite3.Error):
        return _of_sqlite(driver, cause)
    state = str(getattr(driver, "sqlstate", None) or "")
    operational = isinstance(error, OperationalError) or type(driver).__name__ == "OperationalError"
    if isinstance(error, PendingRollbackError):  # a statement after the one that lost the connection
        return ConnectionLost(_LOST)
    if cause.startswith(_UNREACHABLE):
        return ConnectionLost(f"the database cannot be reached: {cause}")
    if state.startswith(_ENDED) or (operational and not state):
        return ConnectionLost(f"{_LOST} ({cause})")
    if state == _LOCKED:
        return LockedError(f"the tables of the database are in use: {cause}")
    if state == _NO_PERMISSION:
        return NoPermission(f"the user of the database may not do this: {cause}")
    refused = not operational and (isinstance(error, DatabaseError) or not isinstance(error, SQLAlchemyError))
    return CollectionError(f"the database {'refused a statement' if refused else 'cannot be used'}: {cause}")


def _of_sqlite(error: sqlite3.Error, cause: str) -> CollectionError:
    if not isinstance(error, sqlite3.OperationalError):
        return CollectionError(f"the database is damaged or not one of ours: {cause}; {_REPAIR_HINT}")
    if "locked" in cause:
        return LockedError("another process is writing to the collection: try again when it is done")
    kind = NoPermission if "readonly" in cause else CollectionError
    return kind(f"the database cannot be used: {cause}")


def _cause(error: Exception) -> str:
    """Return the first line of the database's own message, wrapped by SQLAlchemy or not."""
    return str(getattr(error, "orig", error)).strip().partition("\n")[0]
