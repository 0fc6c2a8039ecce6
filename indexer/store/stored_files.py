"""Folders of files in a database that machines share, in blocks; each machine keeps copies of the files it uses."""

from pathlib import Path

from moverank.indexer.files.atomic_write import atomic_directory, durable_file
from moverank.indexer.store.reader import Reader
from moverank.indexer.store.writer import Writer

_BLOCK = 8 * 2**20  # bytes of a row


def store_folder(writer: Writer, folder: Path) -> None:
    """Store the files in `folder` under its name, in the writer's transaction."""
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            number = 0
            while (block := file.read(_BLOCK)) or not number:
                writer.add_file_block(folder.name, path.name, number, block)
                number += 1


def fetch_folder(reader: Reader, folder: Path) -> bool:
    """Write the files that are stored under the name of `folder` to it; return whether there are any.

    Raises OSError, unless another process has written the folder meanwhile.
    """
    names = reader.file_names(folder.name)
    try:
        if names:
            with atomic_directory(folder, replace=False) as new:
                for name in names:
                    with durable_file(new / Path(name).name) as file:
                        for block in reader.file_blocks(folder.name, name):
                            file.write(block)
    except OSError:
        if not folder.is_dir():
            raise
    return bool(names)
