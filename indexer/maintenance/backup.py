"""Copies one consistent state of a collection, even while other processes write, and between kinds of databases."""

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

from moverank.indexer.errors import CollectionError, NoCollection
from moverank.indexer.files.atomic_write import atomic_directory
from moverank.indexer.files.directory import DATABASE
from moverank.indexer.files.location import collection_directory, database_url, display_name
from moverank.indexer.files.systems import sync_path
from moverank.indexer.files.writer_lock import locked
from moverank.indexer.indexing.collection_vectors import (
    FINGERPRINT,
    FOLDER,
    copy_vectors,
    current_vectors,
    new_vectors_folder,
    publish_vectors,
    stored_settings,
    vectors_folder,
)
from moverank.indexer.snapshot.compaction import compact_if_due
from moverank.indexer.snapshot.snapshot_layout import PREFIX
from moverank.indexer.store import Reader, Store, exists, open_existing, open_store, sqlite_url
from moverank.indexer.values.search_options import Progress, silent
from moverank.indexer.values.settings import Settings
from moverank.indexer.vectors.open_vectors import verify_vectors


def back_up(directory: Path, target: Path, *, progress: Progress = silent) -> int:
    """Copy the collection in `directory` to a new directory `target`, and return the revision of the copy.

    One consistent state of the database is copied; the word vectors are copied and checked; derived files are copied,
    or rebuilt if they do not fit that state. `progress` is called while they are rebuilt. Raises CollectionError, and
    leaves nothing behind then.
    """
    if not exists(directory):
        raise NoCollection(f"there is no collection in {display_name(directory)}")
    if target.exists():
        raise CollectionError(f"{target} exists already: name another directory")
    try:
        with atomic_directory(target, replace=False) as partial:
            return _copied(directory, partial, progress)
    except OSError as error:
        raise CollectionError(f"{target} cannot be written: {error.strerror or error}") from error


def _copied(directory: Path, partial: Path, progress: Progress) -> int:
    stored = _copy_state(directory, partial)
    with closing(Store(sqlite_url(partial / DATABASE))) as copied:
        with copied.reading() as reader:
            revision = reader.revision()
        if FINGERPRINT in stored:
            verify_vectors(vectors_folder(partial, stored))
            with copied.reading() as reader:
                embedding = current_vectors(reader, partial, stored)
            _copy_snapshots(directory, partial)
            if embedding:
                compact_if_due(copied, partial, Settings.restored(stored), embedding, progress)
    for path in partial.rglob("*"):
        sync_path(path)
    return revision


def _copy_state(directory: Path, partial: Path) -> dict[str, Any]:
    """Copy the database and its word vectors, once more if the vectors were replaced; return the stored settings."""
    with closing(open_store(directory)) as store:
        if store.shared:
            return _copy_rows(store, directory, partial)
        while True:
            store.copy_to(partial / DATABASE)
            with closing(Store(sqlite_url(partial / DATABASE))) as copied:
                stored = stored_settings(copied)
            if FINGERPRINT not in stored:
                return stored
            folder = vectors_folder(directory, stored)
            try:
                shutil.copytree(folder, partial / folder.name)
            except OSError:
                if vectors_folder(directory, stored_settings(store)) == folder:
                    raise
                shutil.rmtree(partial / folder.name, ignore_errors=True)
            else:
                return stored


def _copy_rows(store: Store, directory: Path, partial: Path) -> dict[str, Any]:
    """Copy the state of a shared database to a file, with its word vectors, and return the stored settings."""
    with store.reading() as reader, closing(Store(sqlite_url(partial / DATABASE))) as copied:
        stored = reader.settings()
        with copied.writing() as writer:
            writer.copy_rows(reader)
        if FINGERPRINT in stored:
            copy_vectors(reader, directory, stored, vectors_folder(partial, stored))
    return stored


def _copy_snapshots(directory: Path, partial: Path) -> None:
    """Copy the snapshots except removed ones; the copied collection ignores snapshots of another state."""
    for path in directory.glob(f"{PREFIX}*"):
        try:
            shutil.copytree(path, partial / path.name)
        except OSError:
            shutil.rmtree(partial / path.name, ignore_errors=True)


def copy_collection(source: str | Path, target: str | Path, *, wait: float = 0.0, progress: Progress = silent) -> int:
    """Copy one consistent state of a collection to `target`, a new directory or a database, and return its revision.

    `progress` is called while derived files are made. Raises CollectionError, and leaves nothing behind then.
    """
    origin, directory = collection_directory(source), collection_directory(target)
    if database_url(directory) is None:
        return back_up(origin, directory, progress=progress)
    store = open_existing(origin)
    if store is None:
        raise NoCollection(f"there is no collection in {display_name(origin)}")
    with closing(store), store.reading() as reader, locked(directory, wait):
        return _copied_rows(reader, origin, directory, wait)


def _copied_rows(reader: Reader, origin: Path, directory: Path, wait: float) -> int:
    """Copy all rows in one transaction, with the word vectors."""
    stored = reader.settings()
    with closing(open_store(directory)) as new, new.locked(wait), new.writing() as writer:
        if writer.settings():
            raise CollectionError(f"{display_name(directory)} holds a collection already: name another schema")
        writer.copy_rows(reader)
        if FINGERPRINT in stored:
            folder = new_vectors_folder(directory, stored, shared=True)
            copy_vectors(reader, origin, stored, folder)
            writer.set_settings({FOLDER: folder.name})
            publish_vectors(writer, folder)
        return writer.revision()
