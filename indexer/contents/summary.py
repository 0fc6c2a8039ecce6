"""The summary of a collection: what `moverank info` shows."""

from pathlib import Path
from stat import S_ISREG
from typing import Any

from moverank.indexer.errors import DamagedFile, VectorsError
from moverank.indexer.files.checksums import check_names
from moverank.indexer.indexing.vectors_folder import FINGERPRINT, vectors_folder
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.cached_coverage import read_coverage
from moverank.indexer.snapshot.snapshot_layout import META
from moverank.indexer.snapshot.snapshot_meta import derived_from, newest_of, valid_for
from moverank.indexer.store.size_reader import SizeReader
from moverank.indexer.vectors.manifest import check_files, read_manifest


def summary(
    reader: SizeReader,
    directory: Path,
    settings: Settings,
    vectors: tuple[int, int],
    coverage: float | None,
    in_use: dict[str, str | None],
) -> dict[str, Any]:
    """Return sizes, revision and settings by name.

    `reader`, `directory` and `settings` are the collection's, `vectors` the number of its word vectors and their
    dimension, `coverage` the share of running words that have one. `in_use` says what the first stage uses.
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
        "coverage": coverage,
        "fields": reader.field_names(),
        "revision": reader.revision(),
        "dim": dim,
        "vectors": count,
        "bytes": sum(map(_size, directory.rglob("*"))),
    }
    choices = settings.stored() | {"stop_words": len(settings.stop_words), "ranking": settings.specification}
    return sizes | choices | in_use


def stored_summary(reader: SizeReader, directory: Path) -> dict[str, Any] | None:
    """Return the summary of a collection in a SQLite file from what is stored about it, without reading any array.

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
        return None  # opening the collection has the error
    if manifest["fingerprint"] != fingerprint:
        return None
    settings = Settings.restored(stored)
    factory = newest_of(directory, derived_from(settings, fingerprint), valid_for(reader), _factory)
    in_use = {"faiss_in_use": factory, "database_stage": None}
    return summary(reader, directory, settings, (manifest["words"], manifest["dim"]), coverage.share, in_use)


def _size(path: Path) -> int:
    """Return the size of a file in bytes, 0 of a folder, and of a file that another process has removed by now."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0
    return found.st_size if S_ISREG(found.st_mode) else 0


def _factory(path: Path, meta: dict[str, Any]) -> str:
    """Return the factory string of a snapshot's index; DamagedFile if files are missing or of another size."""
    check_names(path, meta["files"], META)
    return str(meta["factory"])
