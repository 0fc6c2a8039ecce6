"""Opens the store of a collection, and its stored settings and word vectors."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moverank.indexer.errors import CollectionError
from moverank.indexer.files.directory import DATABASE, VECTORS, exists
from moverank.indexer.settings import Settings
from moverank.indexer.store import Store, sqlite_url
from moverank.indexer.vectors import open_vectors
from moverank.rerank.words.embedding import Embedding

FINGERPRINT = "fingerprint"
"""Name of the setting that stores the fingerprint of the word vectors; absent until there are any."""


def open_collection(directory: Path) -> tuple[Store, Settings, Embedding | None]:
    """Open the store in a collection's directory; CollectionError if there is no usable collection."""
    if not exists(directory):
        raise CollectionError(
            f"there is no collection in {directory}: make one with `moverank index PATH -i {directory}`"
        )
    store = Store(sqlite_url(directory / DATABASE))
    try:
        return store, *current_settings(store, directory)
    except BaseException:
        store.close()
        raise


def current_settings(
    store: Store, directory: Path, opened: Embedding | None = None
) -> tuple[Settings, Embedding | None]:
    """Read the settings of a collection, and open its word vectors unless they are those already `opened`.

    `store` and `directory` are the collection's. Returns None for the vectors if there are none yet.
    """
    with store.reading() as reader:
        stored = reader.settings()
    return Settings.restored(stored), current_vectors(directory, stored, opened)


def current_vectors(directory: Path, stored: Mapping[str, Any], opened: Embedding | None = None) -> Embedding | None:
    """Open the word vectors in a collection's `directory` unless they are those already `opened`; None without any yet.

    `stored` are the collection's settings. Raises VectorsError for damaged files, CollectionError if the fingerprint
    of the vectors is not the stored one.
    """
    if FINGERPRINT not in stored:
        return None
    if opened is not None and opened.fingerprint == stored[FINGERPRINT]:
        return opened
    path = directory / VECTORS
    embedding = open_vectors(path)
    if embedding.fingerprint != stored[FINGERPRINT]:
        raise CollectionError(f"{path} holds other word vectors than the collection was made with: put those back")
    return embedding
