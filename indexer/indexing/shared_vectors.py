"""Word vectors in a database that machines share: the files of their folder."""

from pathlib import Path

from moverank.indexer.errors import VectorsError
from moverank.indexer.store import Reader, Writer
from moverank.indexer.store.stored_files import fetch_folder, store_folder


def publish_vectors(writer: Writer, folder: Path) -> None:
    """Store the files of the word vectors in `folder` instead of all others, in the writer's transaction."""
    writer.drop_files()
    store_folder(writer, folder)


def fetch_vectors(reader: Reader, folder: Path) -> None:
    """Write the files of the word vectors to `folder`, where they are missing; VectorsError if there are none."""
    try:
        found = fetch_folder(reader, folder)
    except OSError as error:
        raise VectorsError(f"{folder}: cannot be written: {error.strerror}") from error
    if not found:
        raise VectorsError(f"the database does not have the word vectors {folder.name}")
