"""Copies one consistent state of a collection, even while other processes write."""

import logging
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

from moverank.indexer.errors import CollectionError, NoCollection
from moverank.indexer.files.atomic_write import atomic_directory, sync_path
from moverank.indexer.files.directory import DATABASE
from moverank.indexer.files.location import shown
from moverank.indexer.indexing.collection_vectors import copy_vectors, current_vectors, stored_settings
from moverank.indexer.indexing.vectors_folder import FINGERPRINT, vectors_folder
from moverank.indexer.progress import Progress, silent
from moverank.indexer.settings import DATABASE as IN_DATABASE
from moverank.indexer.settings import FILES, Settings
from moverank.indexer.snapshot.compaction import compact_if_due
from moverank.indexer.snapshot.database_stage import STAGE
from moverank.indexer.snapshot.snapshot_layout import PREFIX
from moverank.indexer.store import Store, exists, open_store, sqlite_url
from moverank.indexer.vectors.layout import check_vectors

_log = logging.getLogger("moverank")


def backup(directory: Path, target: Path, *, progress: Progress = silent) -> int:
    """Copy the collection in `directory` to a new directory `target`, and return the revision of the copy.

    One consistent state of the database is copied; the word vectors are copied and checked; derived files are copied,
    or rebuilt if they do not fit that state. `progress` is called while they are rebuilt. Raises CollectionError, and
    leaves nothing behind then.
    """
    if not exists(directory):
        raise NoCollection(f"there is no collection in {shown(directory)}")
    if target.exists():
        raise CollectionError(f"{target} exists already: name another directory")
    try:
        with atomic_directory(target, replace=False) as partial:
            return _copied(directory, partial, progress)
    except OSError as error:
        raise CollectionError(f"{target} cannot be written: {error.strerror or error}") from error


def _copied(directory: Path, partial: Path, progress: Progress) -> int:
    stored = _copy_state(directory, partial)
    with closing(Store(sqlite_url(partial / DATABASE))) as copy:
        with copy.reading() as reader:
            revision = reader.revision()
        if FINGERPRINT in stored:
            check_vectors(vectors_folder(partial, stored))
            with copy.reading() as reader:
                embedding = current_vectors(reader, partial, stored)
            _copy_snapshots(directory, partial)
            if embedding:
                compact_if_due(copy, partial, Settings.restored(stored), embedding, progress)
    for path in partial.rglob("*"):
        sync_path(path)
    return revision


def _copy_state(directory: Path, partial: Path) -> dict[str, Any]:
    """Copy the database and its word vectors, and return the stored settings; again if the vectors were replaced."""
    with closing(open_store(directory)) as store:
        if store.shared:
            return _copy_rows(store, directory, partial)
        while True:
            store.copy_to(partial / DATABASE)
            with closing(Store(sqlite_url(partial / DATABASE))) as copy:
                stored = stored_settings(copy)
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
    with store.reading() as reader, closing(Store(sqlite_url(partial / DATABASE))) as copy:
        stored = reader.settings()
        with copy.writing() as writer:
            writer.copy_rows(reader)
            if stored.get("first_stage_in") == IN_DATABASE:
                stored |= {"first_stage_in": FILES, STAGE: {}}
                writer.set_settings({"first_stage_in": FILES, STAGE: {}})
                _log.warning("the copy is a directory: its first stage is in files, not in a database")
        if FINGERPRINT in stored:
            copy_vectors(reader, directory, stored, vectors_folder(partial, stored))
    return stored


def _copy_snapshots(directory: Path, partial: Path) -> None:
    """Copy the snapshots; skip those removed meanwhile. Those of another state are not used by the copy."""
    for path in directory.glob(f"{PREFIX}*"):
        try:
            shutil.copytree(path, partial / path.name)
        except OSError:
            shutil.rmtree(partial / path.name, ignore_errors=True)
