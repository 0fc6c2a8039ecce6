"""Word vectors in a database that machines share: the files of their folder, in blocks."""

from pathlib import Path

from moverank.indexer.errors import VectorsError
from moverank.indexer.files.atomic_write import atomic_directory, durable_file
from moverank.indexer.store import Reader, Writer

_BLOCK = 8 * 2**20  # bytes of a row


def publish_vectors(writer: Writer, folder: Path) -> None:
    """Store the files of the word vectors in `folder` instead of all others, in the writer's transaction."""
    writer.drop_files()
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            number = 0
            while (block := file.read(_BLOCK)) or not number:
                writer.add_file_block(folder.name, path.name, number, block)
                number += 1


def fetch_vectors(reader: Reader, folder: Path) -> None:
    """Write the files of the word vectors to `folder`, where they are missing; VectorsError if there are none."""
    names = reader.file_names(folder.name)
    if not names:
        raise VectorsError(f"the database does not have the word vectors {folder.name}")
    try:
        with atomic_directory(folder, replace=False) as new:
            for name in names:
                with durable_file(new / Path(name).name) as file:
                    for block in reader.file_blocks(folder.name, name):
                        file.write(block)
    except OSError as error:
        if not folder.is_dir():  # else another process was faster
            raise VectorsError(f"{folder}: cannot be written: {error.strerror}") from error
