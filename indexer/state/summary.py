"""The summary of a collection, which `moverank info` shows, and its documents as a container."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from stat import S_ISREG
from typing import Any

from moverank.indexer.errors import DamagedFile, VectorsError
from moverank.indexer.snapshot.cached_coverage import Coverage, read_coverage
from moverank.indexer.snapshot.snapshot_layout import checked_factory, derived_from, newest_of, valid_for
from moverank.indexer.state.contents import Contents
from moverank.indexer.store import Reader
from moverank.indexer.values.documents import Document
from moverank.indexer.values.search_options import Where
from moverank.indexer.values.settings import Settings
from moverank.indexer.vectors.manifest import FINGERPRINT, check_files, read_manifest, vectors_folder


def summary(
    reader: Reader,
    directory: Path,
    settings: Settings,
    vectors: tuple[int, int],
    coverage: Coverage,
    factory: str | None,
) -> dict[str, Any]:
    """Return sizes, revision and settings by name.

    `reader`, `directory` and `settings` are the collection's, `vectors` the number of its word vectors and their
    dimension, `coverage` has the running words by step, `factory` describes the first stage's index in use.
    """
    count, dim = vectors
    sizes = {
        "documents": reader.document_count(),
        "parts": reader.part_count(),
        "wordless": reader.wordless_count(),
        "words": reader.word_count(),
        "known_words": reader.word_count(known=True),
        "given_vectors": reader.vector_count(),
        "given_dim": reader.vector_dim(),
        "coverage": coverage.share,
        "coverage_by": coverage.shares,
        "fields": reader.field_names(),
        "revision": reader.revision(),
        "dim": dim,
        "vectors": count,
        "bytes": sum(map(_size, directory.rglob("*"))),
    }
    choices = settings.stored() | {"stop_words": len(settings.tokenizer.stop_words), "ranking": settings.specification}
    choices |= {name: len(str(choices[name] or "").split()) for name in ("vocabulary", "phrases")}
    return sizes | choices | {"faiss_in_use": factory}


def stored_summary(reader: Reader, directory: Path) -> dict[str, Any] | None:
    """Return the summary of a collection in a SQLite file from stored values alone, without reading any array.

    None unless there are word vectors, and the coverage of this state is cached.
    """
    stored = reader.settings()
    fingerprint = stored.get(FINGERPRINT)
    coverage = read_coverage(reader, directory, fingerprint) if fingerprint else None
    if coverage is None:
        return None
    folder = vectors_folder(directory, stored)
    try:
        manifest = read_manifest(folder)
        check_files(folder, manifest)
    except (VectorsError, DamagedFile, OSError, KeyError):
        return None  # opening the collection raises the error
    if manifest["fingerprint"] != fingerprint:
        return None
    settings = Settings.restored(stored)
    factory = newest_of(directory, derived_from(settings, fingerprint), valid_for(reader), checked_factory)
    return summary(reader, directory, settings, (manifest["words"], manifest["dim"]), coverage, factory)


def _size(path: Path) -> int:
    """Return the size of a file in bytes; 0 for a folder, and for a file that another process has just removed."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0
    return found.st_size if S_ISREG(found.st_mode) else 0


class StoredDocuments(ABC):
    """The container methods of `Collection`: its documents in order, and `in`, `get` and `keys` by their keys.

    Every call sees the last committed state, and every iteration one state from its beginning to its end, also while
    another process writes. Documents are read in batches.
    """

    @abstractmethod
    def contents(self, where: Where | None = None) -> AbstractContextManager[Contents]:
        """Open one state of the documents that pass a filter, as in `SearchOptions.where`."""

    def documents(self, where: Where | None = None) -> Iterator[Document]:
        """Iterate over the documents that pass a filter, in the order in which they were first added."""
        with self.contents(where) as contents:
            yield from contents.documents()

    def keys(self, where: Where | None = None) -> Iterator[str]:
        """Iterate over the keys of the documents that pass a filter, in the same order."""
        with self.contents(where) as contents:
            yield from contents.keys()

    def get(self, key: str) -> Document | None:
        """Return the document with a key, None if there is none."""
        with self.contents() as contents:
            return contents.get(key)

    def __iter__(self) -> Iterator[Document]:
        return self.documents()

    def __len__(self) -> int:
        with self.contents() as contents:
            return contents.total

    def __contains__(self, key: object) -> bool:
        with self.contents() as contents:
            return isinstance(key, str) and contents.has(key)
