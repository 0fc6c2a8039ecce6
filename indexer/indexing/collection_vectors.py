"""Opens the store of a collection, and its stored settings and word vectors.

The vectors are a folder in the collection's directory, or files in a database that machines share. New vectors get a
folder of their own, and the database names the current one: changing them is one transaction, and other processes keep
the files that they have opened.
"""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from shlex import quote
from typing import Any

from moverank.indexer.errors import CollectionError, NoCollection, VectorsError
from moverank.indexer.files.directory import VECTORS
from moverank.indexer.files.location import display_name
from moverank.indexer.store import Reader, Store, Writer, open_existing, repeated
from moverank.indexer.values.settings import Settings
from moverank.indexer.vectors.manifest import FINGERPRINT as FINGERPRINT
from moverank.indexer.vectors.manifest import FOLDER as FOLDER
from moverank.indexer.vectors.manifest import vectors_folder as vectors_folder
from moverank.indexer.vectors.open_vectors import open_vectors
from moverank.rerank.words.embedding import Embedding


def publish_vectors(writer: Writer, folder: Path) -> None:
    """Store the files of the word vectors in `folder` instead of all others, in the writer's transaction."""
    writer.rows.store_folder(folder)


def fetch_vectors(reader: Reader, folder: Path) -> None:
    """Write the files of the word vectors to `folder`, where they are missing; VectorsError if there are none."""
    try:
        found = reader.rows.fetch_folder(folder)
    except OSError as error:
        raise VectorsError(f"{folder}: cannot be written: {error.strerror}") from error
    if not found:
        raise VectorsError(f"the database does not have the word vectors {folder.name}")


_NAME = re.compile(f"{VECTORS}(-[0-9a-f]{{8}})?")


def open_collection(directory: Path) -> tuple[Store, Settings, Embedding | None]:
    """Open the store in a collection's directory; NoCollection without one, CollectionError if it is not usable."""
    return repeated(lambda: _opened(directory))


def _opened(directory: Path) -> tuple[Store, Settings, Embedding | None]:
    store = open_existing(directory)
    if store is None:
        place = display_name(directory)
        raise NoCollection(f"there is no collection in {place}: make one with `moverank index PATH -i {quote(place)}`")
    try:
        return store, *current_settings(store, directory)
    except BaseException:
        store.close()
        raise


def current_settings(
    store: Store, directory: Path, opened: Embedding | None = None
) -> tuple[Settings, Embedding | None]:
    """Read the settings of a collection, and open its word vectors unless they are `opened` already.

    `store` and `directory` are the collection's. Returns None for the vectors if there are none yet.
    """
    before = None
    while True:
        with store.reading() as reader:
            stored = reader.settings()
            try:
                return Settings.restored(stored), current_vectors(reader, directory, stored, opened)
            except VectorsError:
                if before is not None and stored.get(FINGERPRINT) == before.get(FINGERPRINT):
                    raise
        before = stored  # another process may have just replaced them
        store.reopen_if_changed()


def stored_settings(store: Store) -> dict[str, Any]:
    """Return every setting that a store has, by name."""
    with store.reading() as reader:
        return reader.settings()


def current_vectors(
    reader: Reader, directory: Path, stored: Mapping[str, Any], opened: Embedding | None = None
) -> Embedding | None:
    """Open the word vectors in a collection's `directory` unless they are `opened` already; None if there are none yet.

    `stored` are the collection's settings. `reader` fetches the vectors if the database is shared. Raises
    VectorsError for damaged files, CollectionError if the fingerprint of the vectors is not the stored one.
    """
    if FINGERPRINT not in stored:
        return None
    if opened is not None and opened.fingerprint == stored[FINGERPRINT]:
        return opened
    path = vectors_folder(directory, stored)
    if reader.shared and not path.exists():
        fetch_vectors(reader, path)
    embedding = open_vectors(path)
    if embedding.fingerprint != stored[FINGERPRINT]:
        raise CollectionError(f"{path} holds other word vectors than the collection was made with: put those back")
    return embedding


def new_vectors_folder(directory: Path, stored: Mapping[str, Any], *, shared: bool) -> Path:
    """Return a folder for new word vectors, which does not exist; `stored` are the collection's settings.

    For a `shared` database, its name is unique, since other machines keep the vectors under the same name.
    """
    if FINGERPRINT in stored or shared:
        return directory / f"{VECTORS}-{token_hex(4)}"
    path = vectors_folder(directory, stored)
    shutil.rmtree(path, ignore_errors=True)  # left by a run that was killed before it stored their fingerprint
    return path


def remove_other_vectors(store: Store, directory: Path) -> None:
    """Remove the word vectors that a change has replaced, or a killed process has left behind.

    The caller holds the writer's lock; open readers keep the files.
    """
    folders = [path for path in directory.glob(f"{VECTORS}*") if _NAME.fullmatch(path.name)]
    if len(folders) > 1:
        current = vectors_folder(directory, stored_settings(store))
        for path in folders:
            if path != current:
                shutil.rmtree(path, ignore_errors=True)


def copy_vectors(reader: Reader, directory: Path, stored: Mapping[str, Any], target: Path) -> None:
    """Copy the word vectors of the collection in `directory`, whose settings are `stored`, to a new folder."""
    if current_vectors(reader, directory, stored) is None:  # fetches them if the database is shared
        raise CollectionError(f"{display_name(directory)} has no word vectors")
    shutil.copytree(vectors_folder(directory, stored), target)
