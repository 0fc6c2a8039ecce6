"""A copy of a collection at one instant, made while others write."""

import os
import shutil
from pathlib import Path

from moverank.indexer.errors import CollectionError
from moverank.indexer.files.directory import DATABASE, VECTORS, exists
from moverank.indexer.indexing.creation import FINGERPRINT
from moverank.indexer.progress import Progress, silent
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.compaction import compact_if_due
from moverank.indexer.store import Store, sqlite_url
from moverank.indexer.vectors import check_vectors, open_vectors


def backup(place: Path, target: Path, *, progress: Progress = silent) -> int:
    """Copy a collection into a directory that is not there yet, and return the revision that it holds.

    The database is copied as of one instant; the word vectors are those that it was made with, looked through; what is
    derived is copied if it is of that instant, else made. Raises CollectionError, and leaves nothing behind then.
    """
    if not exists(place):
        raise CollectionError(f"there is no collection in {place}")
    if target.exists():
        raise CollectionError(f"{target} is there already: name another place")
    partial = target.with_name(f".{target.name}.partial-{os.getpid()}")
    try:
        partial.mkdir(parents=True)
        revision = _copied(place, partial, progress)
        partial.rename(target)
    except OSError as error:
        raise CollectionError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return revision


def _copied(place: Path, partial: Path, progress: Progress) -> int:
    store = Store(sqlite_url(place / DATABASE))
    try:
        store.copy_to(partial / DATABASE)
    finally:
        store.close()
    copy = Store(sqlite_url(partial / DATABASE))
    try:
        with copy.reading() as reader:
            stored, revision = reader.settings(), reader.revision()
        if FINGERPRINT in stored:
            shutil.copytree(place / VECTORS, partial / VECTORS)
            check_vectors(partial / VECTORS)
            embedding = open_vectors(partial / VECTORS)
            if embedding.fingerprint != stored[FINGERPRINT]:
                raise CollectionError(f"{place / VECTORS} holds other word vectors than the collection was made with")
            _copy_snapshots(place, partial)
            compact_if_due(copy, partial, Settings.restored(stored), embedding, progress)
    finally:
        copy.close()
    for path in (partial / DATABASE, partial):
        _sync(path)
    return revision


def _copy_snapshots(place: Path, partial: Path) -> None:
    """Copy derived files: one that is of another instant, or goes away meanwhile, is of no use and does no harm."""
    for path in place.glob("snapshot-*"):
        try:
            shutil.copytree(path, partial / path.name)
        except OSError:
            shutil.rmtree(partial / path.name, ignore_errors=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
