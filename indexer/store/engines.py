"""SQLAlchemy's rows, and databases with their engines; database errors become errors of `indexer`."""

import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from json import JSONDecodeError
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from sqlalchemy import (
    URL,
    Connection,
    CursorResult,
    Engine,
    TextClause,
    bindparam,
    create_engine,
    event,
    make_url,
    text,
)
from sqlalchemy.exc import PendingRollbackError, SQLAlchemyError

from moverank.indexer.errors import CollectionError, ConnectionLost, LockedError, NoPermission
from moverank.indexer.files.databases import database_kind
from moverank.indexer.store.rows import (
    DamagedDocument,
    Rows,
    Values,
    check_content,
    check_own,
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
LOST = "the connection to the database was lost: what was not committed was not changed; run it again"

_Result = TypeVar("_Result")


class ConnectionRows(Rows):
    """Reads and writes rows over a connection of SQLAlchemy.

    Several threads may read: each statement, and each portion of a stream, runs under `lock`.
    """

    lock: PatientLock

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
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
        """Insert rows of values in the order of the columns `names`."""
        if listed := list(rows):
            columns = ", ".join(f'"{name}"' for name in names)
            marks = ", ".join("?" * len(names))
            self.connection.exec_driver_sql(f"INSERT INTO {table} ({columns}) VALUES ({marks})", listed)

    def _in(self, statement: str, values: Sequence[Any], parameters: dict[str, Any]) -> Sequence[Values]:
        with self.lock:
            return self._execute_in(statement, values, parameters).all()

    def _execute_in(self, statement: str, values: Sequence[Any], parameters: dict[str, Any]) -> CursorResult[Any]:
        return self.connection.execute(self._listed(statement), {"values": list(values), **parameters})

    def _listed(self, statement: str) -> TextClause:
        """Return a statement with `IN :values`, which gets separate values."""
        return text(statement).bindparams(bindparam("values", expanding=True))

    def free_ids(self, tables: Sequence[str]) -> None:
        """Let the ids of new rows follow those that were inserted into tables of a shared database."""
        raise NotImplementedError

    def store_folder(self, folder: Path) -> None:
        """Store the files in `folder` under its name in a shared database, and remove all others from it."""
        raise NotImplementedError


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
    """Return the URL of a SQLite file, with special characters of its path escaped; CollectionError if it has none."""
    try:
        return URL.create("sqlite", database=str(path)).render_as_string()
    except UnicodeEncodeError as error:
        raise CollectionError(
            f"{path} has a name that is not UTF-8: rename the directory, or use another one"
        ) from error


def sqlite_engine(url: str, read_only: ReadOnlyFile | None) -> Engine:
    """Return an engine with explicit transactions, WAL and foreign keys; `read_only`: the file, if it is read-only."""
    own = {"creator": read_only.connect} if read_only else {}
    engine = create_engine(url, hide_parameters=True, **own)  # messages are logged
    database = engine.url.database
    pragmas = ["busy_timeout = 5000", "foreign_keys = ON"]
    pragmas += [] if read_only else ["journal_mode = WAL", "synchronous = FULL", "fullfsync = ON"]
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
        keys = options.get("moverank_keys", True)
        if connection.info.setdefault("moverank_keys", True) is not keys:  # before BEGIN: a no-op within a transaction
            connection.exec_driver_sql(f"PRAGMA foreign_keys = {'ON' if keys else 'OFF'}")
            connection.info["moverank_keys"] = keys
        if write:
            connection.exec_driver_sql(f"PRAGMA cache_size = -{_WRITER_CACHE}")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


class Database:
    """An open database, here a SQLite file; classes of plug-ins override what is different in theirs.

    `place` is its name in messages; `rows` is the class that reads and writes over its connections.
    """

    rows: ClassVar[type[ConnectionRows]] = ConnectionRows
    _read_only: ReadOnlyFile | None = None

    def __init__(self, url: str) -> None:
        file = make_url(url).database
        if file:
            check_own(Path(file))
        self.place = str(Path(file or "").parent)
        self._read_only = ReadOnlyFile.of(url)
        self.engine = sqlite_engine(url, self._read_only)

    @classmethod
    def of(cls, url: str) -> "Database":
        """Open the database that `url` names; PlugInError for one of a missing plug-in."""
        opened: Database = cls(url) if url.startswith("sqlite:") else database_kind(url).open(url)
        return opened

    def has_changed(self) -> bool:
        """Return whether it was opened as a file that does not change, and has changed since."""
        return self._read_only is not None and self._read_only.changed()

    def locked(self, wait: float) -> AbstractContextManager[None]:  # noqa: ARG002 - a file's lock is beside it
        """Hold the writer's lock of a shared database during a block; LockedError after `wait` seconds."""
        return nullcontext()

    def options(self, *, write: bool) -> dict[str, Any]:
        """Return the options of a transaction's connection."""
        return {"moverank_write": write}

    def begin_writing(self, connection: Connection) -> Callable[[Connection], bool] | None:  # noqa: ARG002
        """Begin a writer's transaction; return what finds out, over another connection, whether it was committed.

        None: its connection cannot be lost.
        """
        return None

    def begin_migration(self, connection: Connection) -> None:
        """Prepare a transaction that may change tables."""

    def finish_tables(self, connection: Connection) -> None:
        """Add to new tables what others have otherwise."""

    def users(self, connection: Connection) -> str:  # noqa: ARG002
        """Return the sessions that use tables, the oldest first; an empty text for none."""
        return ""


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
    """Turn errors of SQLAlchemy, SQLite and other drivers into CollectionError, LockedError or ConnectionLost.

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
        if _driver(error) not in TRANSLATORS:  # SQLAlchemy does not wrap errors of reading rows
            raise
        raise _translated(error) from error


def _translated(error: Exception) -> CollectionError:
    if isinstance(error, PendingRollbackError):  # a statement after the one that lost the connection
        return ConnectionLost(LOST)
    translate = TRANSLATORS.get(_driver(error))
    cause = str(getattr(error, "orig", error)).strip().partition("\n")[0]  # the database's own message
    return translate(error, cause) if translate else CollectionError(f"the database cannot be used: {cause}")


def _driver(error: Exception) -> str:
    """Return the package whose error it is, wrapped by SQLAlchemy or not."""
    return type(getattr(error, "orig", error)).__module__.partition(".")[0]


def _of_sqlite(error: Exception, cause: str) -> CollectionError:
    if not isinstance(getattr(error, "orig", error), sqlite3.OperationalError):
        return CollectionError(f"the database is damaged or not one of ours: {cause}; {_REPAIR_HINT}")
    if "locked" in cause:
        return LockedError("another process is writing to the collection: try again when it is done")
    kind = NoPermission if "readonly" in cause else CollectionError
    return kind(f"the database cannot be used: {cause}")


TRANSLATORS = {"sqlite3": _of_sqlite}
"""Functions that turn errors of the drivers of open databases, and their messages, into those of `indexer`, by package.

An error is one of the driver, or SQLAlchemy's with it as `orig`.
"""
