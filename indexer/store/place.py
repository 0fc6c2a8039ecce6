"""The database of a collection's directory: a SQLite file there, or the PostgreSQL schema that a file there names."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from moverank.indexer.errors import CollectionError
from moverank.indexer.files.directory import DATABASE
from moverank.indexer.files.location import database_url, is_cluster, make_cache
from moverank.indexer.files.writer_lock import locked
from moverank.indexer.store.sqlite import sqlite_url
from moverank.indexer.store.store import Store


def exists(directory: Path) -> bool:
    """Return whether a directory holds a collection, or its database does; CollectionError if it cannot be read."""
    if is_cluster(directory):
        raise CollectionError(
            f"{directory} describes shards, which cannot be used together here: name one of them, -i PLACE; "
            f"`moverank shards info -i {directory}` lists their places"
        )
    url = database_url(directory)
    if url is None:
        try:
            return (directory / DATABASE).is_file()
        except OSError as error:
            raise CollectionError(f"{directory} cannot be read: {error.strerror}") from error
    with closing(Store(url, migrated=False)) as store:
        return store.is_filled()


def open_store(directory: Path) -> Store:
    """Open the database of a collection's directory; CollectionError if it cannot be used."""
    return Store(database_url(directory) or sqlite_url(directory / DATABASE))


def open_existing(directory: Path) -> Store | None:
    """Open the database of a collection's directory; None if there is no collection, CollectionError as above.

    A server is connected to only once.
    """
    url = database_url(directory)
    if url is None:
        return open_store(directory) if exists(directory) else None
    store = Store(url, migrated=False)
    try:
        if store.migrate_filled():
            return store
    except BaseException:
        store.close()
        raise
    store.close()
    return None


@contextmanager
def locked_for_writing(store: Store, directory: Path, wait: float = 0.0) -> Iterator[None]:
    """Hold the writer's locks of a collection: that of its directory, and that of a shared database.

    Waits at most `wait` seconds for each. Raises LockedError, which names the owner, and CollectionError.
    """
    restore_cache(store, directory)
    with locked(directory, wait), store.locked(wait):
        yield


def restore_cache(store: Store, directory: Path) -> None:
    """Make the directory of a shared database again, if it was deleted since it was opened; CollectionError."""
    if store.shared and database_url(directory) is None:
        make_cache(directory, store.url)
