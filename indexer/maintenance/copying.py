"""Copies a collection to another place, and so from one kind of database to another."""

from contextlib import closing
from pathlib import Path

from moverank.indexer.errors import CollectionError
from moverank.indexer.files.location import collection_directory, database_url, shown
from moverank.indexer.files.writer_lock import locked
from moverank.indexer.indexing.collection_vectors import FINGERPRINT, FOLDER, copy_vectors, new_vectors_folder
from moverank.indexer.indexing.shared_vectors import publish_vectors
from moverank.indexer.maintenance.backup import backup
from moverank.indexer.progress import Progress, silent
from moverank.indexer.store import Reader, exists, open_store


def copy(source: str | Path, target: str | Path, *, wait: float = 0.0, progress: Progress = silent) -> int:
    """Copy one consistent state of a collection to `target`, a new directory or a database, and return its revision.

    `progress` is called while derived files are made. Raises CollectionError, and leaves nothing behind then.
    """
    origin, directory = collection_directory(source), collection_directory(target)
    if not exists(origin):
        raise CollectionError(f"there is no collection in {shown(origin)}")
    if database_url(directory) is None:
        return backup(origin, directory, progress=progress)
    if exists(directory):
        raise CollectionError(f"{shown(directory)} holds a collection already: name another schema")
    with closing(open_store(origin)) as store, store.reading() as reader, locked(directory, wait):
        return _copied(reader, origin, directory, wait)


def _copied(reader: Reader, origin: Path, directory: Path, wait: float) -> int:
    """Copy all rows in one transaction, with the word vectors."""
    stored = reader.settings()
    with closing(open_store(directory)) as new, new.locked(wait), new.writing() as writer:
        if writer.settings():
            raise CollectionError(f"{shown(directory)} holds a collection already: name another schema")
        writer.copy_rows(reader)
        if FINGERPRINT in stored:
            folder = new_vectors_folder(directory, stored, shared=True)
            copy_vectors(reader, origin, stored, folder)
            writer.set_settings({FOLDER: folder.name})
            publish_vectors(writer, folder)
        return writer.revision()
