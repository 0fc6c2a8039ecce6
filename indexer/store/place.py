"""The database of a collection's directory: a SQLite file there, or the shared database that a file there names."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from json import JSONDecodeError
from pathlib import Path
from typing import TYPE_CHECKING

from moverank.indexer.errors import CollectionError
from moverank.indexer.files.directory import DATABASE
from moverank.indexer.files.location import (
    database_url,
    display_name,
    is_cluster,
    make_cache,
    store_accepted_url,
    trusted_url,
)
from moverank.indexer.files.writer_lock import locked
from moverank.indexer.store.reader import Reader
from moverank.indexer.store.rows import (
    SCHEMA,
    DamagedDocument,
    FileRows,
    check_content,
    check_own,
    connect_file,
    is_writable,
)

if TYPE_CHECKING:
    from moverank.indexer.store.store import Store


def exists(directory: Path) -> bool:
    """Return whether a directory holds a collection, or its database does; CollectionError if it cannot be read."""
    if is_cluster(directory):
        raise CollectionError(
            f"{directory} describes shards, which cannot be used together here: name one of them, -i PLACE; "
            f"`moverank shards info -i {directory}` lists their places"
        )
    url = trusted_url(directory)
    if url is None:
        try:
            return (directory / DATABASE).is_file()
        except OSError as error:
            raise CollectionError(f"{directory} cannot be read: {error.strerror}") from error
    with closing(_open(url, prepared=False)) as store:
        filled = store.is_filled()
    store_accepted_url(directory)
    return filled


def open_store(directory: Path) -> "Store":
    """Open the database of a collection's directory; CollectionError if it cannot be used."""
    from moverank.indexer.store.engines import sqlite_url

    store = _open(trusted_url(directory) or sqlite_url(directory / DATABASE))
    store_accepted_url(directory)
    return store


def unprepared_store(directory: Path) -> "Store | None":
    """Open the database of a collection's directory whatever its schema; None without a collection."""
    from moverank.indexer.store.engines import sqlite_url

    if not exists(directory):
        return None
    return _open(trusted_url(directory) or sqlite_url(directory / DATABASE), prepared=False)


def open_existing(directory: Path) -> "Store | None":
    """Open the database of a collection's directory; None without a collection, CollectionError as in `open_store`.

    A server is connected to only once.
    """
    url = trusted_url(directory)
    if url is None:
        return open_store(directory) if exists(directory) else None
    store = _open(url, prepared=False)
    try:
        filled = store.is_filled()
        if filled:
            store.prepare()
        store_accepted_url(directory)
        if filled:
            return store
    except BaseException:
        store.close()
        raise
    store.close()
    return None


def _open(url: str, *, prepared: bool = True) -> "Store":
    from moverank.indexer.store.store import Store  # it imports SQLAlchemy, which `direct_reader` avoids

    return Store(url, prepared=prepared)


@contextmanager
def direct_reader(directory: Path) -> Iterator[Reader | None]:
    """Open a consistent view of the database of a collection's directory without SQLAlchemy; None if it is impossible.

    That is so for a database that is shared or read-only, has another schema, or cannot be opened, which `Store`
    reports. Raises CollectionError as `database_errors` does.
    """
    connection = None if is_cluster(directory) or database_url(directory) else _connected(directory / DATABASE)
    if connection is None:
        yield None
        return
    try:
        with closing(connection):
            yield Reader(FileRows(connection))
    except (sqlite3.Error, JSONDecodeError, DamagedDocument):
        from moverank.indexer.store.engines import database_errors

        with database_errors(display_name(directory)):
            raise


def _connected(path: Path) -> sqlite3.Connection | None:
    """Open a transaction in a file; None unless it is writable and has the current schema."""
    if not is_writable(path):
        return None
    check_own(path)
    try:
        connection = connect_file(path, "rw")
    except sqlite3.Error:
        return None
    with ExitStack() as opened, suppress(sqlite3.Error):
        opened.callback(connection.close)
        connection.execute("BEGIN")
        check_content(connection, path)
        if connection.execute("SELECT version_num FROM alembic_version").fetchone() == (SCHEMA,):
            opened.pop_all()
            return connection
    return None


@contextmanager
def locked_for_writing(store: "Store", directory: Path, wait: float = 0.0) -> Iterator[None]:
    """Hold the writer's locks of a collection: the lock of its directory, and the lock of a shared database.

    Waits at most `wait` seconds for each. Raises LockedError, which names the owner, and CollectionError.
    """
    with locked_directory(store, directory, wait), store.locked(wait):
        yield


@contextmanager
def locked_directory(store: "Store", directory: Path, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock of a collection's directory, which is made again if the one of a shared database was deleted."""
    if store.shared and database_url(directory) is None:
        make_cache(directory, store.url)
    with locked(directory, wait):
        yield
