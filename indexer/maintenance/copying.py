"""Copies a collection to another place, and so from one kind of database to another."""

from contextlib import closing
from pathlib import Path

from moverank.indexer.errors import CollectionError, NoCollection
from moverank.indexer.files.location import collection_directory, database_url, shown
from moverank.indexer.files.writer_lock import locked
from moverank.indexer.indexing.collection_vectors import copy_vectors, new_vectors_folder
from moverank.indexer.indexing.shared_vectors import publish_vectors
from moverank.indexer.indexing.stage_update import copy_stage
from moverank.indexer.indexing.vectors_folder import FINGERPRINT, FOLDER
from moverank.indexer.maintenance.backup import backup
from moverank.indexer.progress import Progress, silent
from moverank.indexer.store import Reader, open_existing, open_store


def copy(source: str | Path, target: str | Path, *, wait: float = 0.0, progress: Progress = silent) -> int:
    """Copy one consistent state of a collection to `target`, a new directory or a database, and return its revision.

    `progress` is called while derived files are made. Raises CollectionError, and leaves nothing behind then.
    """
    origin, directory = collection_directory(source), collection_directory(target)
    if database_url(directory) is None:
        return backup(origin, directory, progress=progress)
    store = open_existing(origin)
    if store is None:
        raise NoCollection(f"there is no collection in {shown(origin)}")
    with closing(store), store.reading() as reader, locked(directory, wait):
        return _copied(reader, origin, directory, wait, progress)


def _copied(reader: Reader, origin: Path, directory: Path, wait: float, progress: Progress) -> int:
    """Copy all rows in one transaction, with the word vectors."""
    stored = reader.settings()
    with closing(open_store(directory)) as new, new.locked(wait), new.writing() as writer:
        if writer.settings():
            raise CollectionError(f"{shown(directory)} holds a collection already: name another schema")
        writer.copy_rows(reader)
        if FINGERPRINT in stored:
            folder = new_vectors_folder(directory, stored, shared=True)
            embedding = copy_vectors(reader, origin, stored, folder)
            writer.set_settings({FOLDER: folder.name})
            publish_vectors(writer, folder)
            copy_stage(reader, origin, writer, directory, embedding, progress)
        return writer.revision()
