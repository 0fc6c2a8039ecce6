"""An open database: connections, transactions and migrations."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from time import monotonic

from sqlalchemy import Connection, inspect

from moverank.indexer.errors import CollectionError, ConnectionLost, LockedError
from moverank.indexer.store.auditor import Auditor
from moverank.indexer.store.engines import (
    ConnectionRows,
    Database,
    copy_file,
    database_errors,
    repeated,
)
from moverank.indexer.store.reader import Reader
from moverank.indexer.store.schema import (
    SETTINGS,
    create_tables,
    migrate,
    orphans,
    pending_migrations,
    schema_of,
)
from moverank.indexer.store.writer import Writer


class Transaction:
    """A transaction by `connect` that reads one state; once ended, it can begin again, and its `reader` reads `rows`.

    `translated` is a block whose errors become those of `database_errors`. `began` is a monotonic time. Raises
    CollectionError, such as ConnectionLost.
    """

    def __init__(
        self,
        connect: Callable[[], AbstractContextManager[Connection]],
        rows: type[ConnectionRows],
        translated: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._connect, self.translated, self._opened = connect, translated, ExitStack()
        self._rows = rows(self._entered())
        self.reader = Reader(self._rows)

    def _entered(self) -> Connection:
        connection = self._opened.enter_context(self._connect())
        self.is_open, self.began = True, monotonic()
        return connection

    def begin(self) -> None:
        """Begin again, in the state that is committed now."""
        self._rows.connection = self._entered()

    def end(self) -> None:
        """End it; nothing happens if it has ended."""
        self.is_open = False
        self._opened.close()


class Store:
    """An open database. Raises CollectionError for one that cannot be opened, or has another version's schema.

    `url` names a SQLite file, or a database that is `shared` by machines. Messages name its `place`. An empty database
    gets its tables. With `prepared` False, the tables are neither checked nor made.
    """

    def __init__(self, url: str, *, prepared: bool = True) -> None:
        self.url = url
        self._open()
        self.place, self.shared = self._database.place, self._database.rows.shared
        if prepared:
            try:
                self.prepare()
            except BaseException:
                self.close()
                raise

    def prepare(self) -> None:
        """Make the tables of an empty database; CollectionError if it has another version's schema."""
        found, steps = self.schema()
        if steps:
            raise CollectionError(
                f"the collection has schema {found}, this version's is {steps[-1]}: `moverank upgrade -i {self.place}` "
                "changes it; make a copy first if an older version is still to read it"
            )
        if not found:
            with self.migrating() as connection:
                if schema_of(connection) is None:  # another process may have made them meanwhile
                    create_tables(connection)
                    self._database.finish_tables(connection)

    def schema(self) -> tuple[str, tuple[str, ...]]:
        """Return the schema of a database, "" if it is empty, and those that lead from it to this version's.

        Raises CollectionError for an unknown schema.
        """
        with self._connect() as connection:
            found = schema_of(connection) or ""
            return found, pending_migrations(connection, found) if found else ()

    def migrate(self, wait: float) -> None:
        """Migrate the tables to this version's schema, as a whole or not at all; the caller holds the writer's lock.

        LockedError, which names the sessions, if others use the tables of a shared database for `wait` seconds.
        """
        until = monotonic() + wait
        while (locked := self._locked_out()) is not None:
            if monotonic() >= until:
                raise locked

    def _locked_out(self) -> LockedError | None:
        """Migrate the tables; return the error if others use them, which names their sessions."""
        try:
            with self.migrating() as connection:
                migrate(connection)
        except LockedError as error:
            with database_errors(self.place), self._engine.connect() as connection:
                users = self._database.users(connection)
            if not users:
                return error
            return LockedError(
                f"the tables of {self.place} are used by {users}: nothing was changed; end that work, or give --wait, "
                "and try again"
            )
        return None

    def _open(self) -> None:
        self._database = Database.of(self.url)
        self._engine, self._rows, self._closed = self._database.engine, self._database.rows, False

    def is_filled(self) -> bool:
        """Return whether the database holds a collection."""
        with self._connect() as connection:
            tables = inspect(connection).has_table(SETTINGS.name)
            return tables and bool(Reader(self._rows(connection)).settings())

    def locked(self, wait: float = 0.0) -> AbstractContextManager[None]:
        """Hold the writer's lock of a shared database during the block; see `Database.locked`. Else do nothing."""
        return self._database.locked(wait)

    def reopen_if_changed(self, first: Callable[[], object] = lambda: None) -> bool:
        """Reopen a file that was opened as immutable and has changed since; return whether it has.

        Data read from it before may then be invalid. `first` is called before, to close its readers.
        """
        if not self._database.has_changed():
            return False
        first()
        self.close()
        self._open()
        return True

    def close(self) -> None:
        """Close all connections: those that are in use when their transactions end."""
        self._closed = True
        self._engine.dispose()

    @contextmanager
    def _connect(self, *, write: bool = False, **others: bool) -> Iterator[Connection]:
        """Open one transaction; raises the errors of `database_errors`.

        A connection that is lost while the transaction ends is no error if there was nothing to commit, or if the
        server has committed it.
        """
        options = self._database.options(write=write) | others
        engine, pool, ended, has_committed = self._engine, self._engine.pool, False, None
        try:
            with (
                database_errors(self.place),
                engine.connect().execution_options(**options) as connection,
                connection.begin(),
            ):
                if write:
                    has_committed = self._database.begin_writing(connection)
                yield connection
                ended = True
        except ConnectionLost:
            if not ended:
                raise
            if has_committed is not None:
                with database_errors(), self._engine.connect() as connection:
                    if not has_committed(connection):
                        raise
        finally:
            if self._closed or engine is not self._engine:
                pool.dispose()

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """Open a transaction that may change tables; it is rolled back if it leaves orphaned rows.

        Foreign keys are not enforced meanwhile: SQLite changes a table by replacing it, and removing the old one would
        cascade to the rows that refer to it.
        """
        with self._connect(write=True, moverank_keys=False) as connection:
            self._database.begin_migration(connection)
            yield connection
            if orphans(connection):
                raise CollectionError("the migration would have orphaned rows of a table: nothing was changed")

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Open a consistent view, in which later commits are not visible."""
        with self._connect() as connection:
            yield Reader(self._rows(connection))

    def transaction(self) -> "Transaction":
        """Begin a transaction that reads one state, and can be ended and begun again."""
        return Transaction(self._connect, self._rows, partial(database_errors, self.place))

    def revision(self) -> int:
        """Return the number of the last change; retry a lost connection, since an error would hide the commit."""

        def read() -> int:
            with self.reading() as reader:
                return reader.revision()

        return repeated(read)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """Open the writer's transaction: committed at the end of the block, rolled back by any exception."""
        with self._connect(write=True) as connection:
            yield Writer(self._rows(connection))

    @contextmanager
    def trying(self) -> Iterator[Writer]:
        """Open the writer's transaction, and undo everything at the end of the block."""
        with self._connect(write=True) as connection:
            yield Writer(self._rows(connection))
            connection.rollback()

    @contextmanager
    def auditing(self, *, write: bool = False) -> Iterator[Auditor]:
        """Open a view of every row for checks, and with `write` for repairs."""
        with self._connect(write=write) as connection:
            yield Auditor(self._rows(connection))

    def copy_to(self, path: Path) -> None:
        """Copy one consistent state of the database, even while another process writes."""
        with self._connect() as connection:
            copy_file(connection, path)
