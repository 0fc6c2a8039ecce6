"""The layout of a collection's directory: its files, and leftovers of failed and killed processes."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from moverank.indexer.files.location import URL_FILE
from moverank.indexer.files.systems import OPEN_FILES_STAY

DATABASE, VECTORS = "collection.db", "vectors"
UNFINISHED = "new-collection.db"
"""The database of a collection that is being created."""

_MANIFEST = "embedding.json"

CACHED = "cached-"
"""The prefix of files that cache results of searches over a whole snapshot; they are removed with the snapshot."""

LOCK, LOCK_OWNER = "lock", "lock.owner"
_TEMPORARY = (
    f".{VECTORS}[.-]*",
    ".snapshot-*",
    ".normalisers.*",
    f".{CACHED}*",
    ".sample-*",
    ".pairs-*",
    "removed-snapshot-*",
)
"""Names that killed writers leave: of `atomic_write`, and of snapshots being removed."""


_OWN = {DATABASE, VECTORS, "normalisers", "evaluation", URL_FILE}
_OWN_PREFIXES = (
    f"{VECTORS}-",
    "snapshot-",
    "removed-snapshot-",
    CACHED,
    "sample-",
    "pairs-",
)


def holds_database(directory: Path) -> bool:
    """Return whether a directory holds a collection, or derived files of one; False for one that cannot be read."""
    # Path.is_file raises where permission is denied.
    return any(os.path.isfile(directory / name) for name in (DATABASE, URL_FILE))  # noqa: PTH113


def is_own(file: Path) -> bool:
    """Return whether a file or folder beside a collection's database is the collection's."""
    return is_leftover(file) or file.name in _OWN or file.name.startswith(_OWN_PREFIXES)


def is_leftover(file: Path) -> bool:
    """Return whether a file is the lock, or may be left by a process killed while it created a collection."""
    imported_vectors = file.name == VECTORS and (file / _MANIFEST).is_file()
    prefixes = (f".{VECTORS}.", UNFINISHED, f"{DATABASE}-")
    return imported_vectors or file.name in (LOCK, LOCK_OWNER) or file.name.startswith(prefixes)


def clear_unfinished(directory: Path) -> None:
    """Remove everything that the creation of a collection writes, except the lock."""
    for file in directory.iterdir():
        if is_leftover(file) and file.name not in (LOCK, LOCK_OWNER):
            _remove_folder(file) if file.is_dir() else file.unlink()
    (directory / DATABASE).unlink(missing_ok=True)


def _remove_folder(folder: Path) -> None:
    """Remove a folder; if files of it stay, so does the manifest: a later run finds by it that they are a leftover."""
    for file in folder.iterdir() if OPEN_FILES_STAY else ():
        if file.name != _MANIFEST:
            with suppress(PermissionError):
                file.unlink()
    if not OPEN_FILES_STAY or {file.name for file in folder.iterdir()} <= {_MANIFEST}:
        shutil.rmtree(folder)


def remove_cached(directory: Path) -> None:
    """Remove the caches of a snapshot."""
    for path in directory.glob(f"{CACHED}*"):
        with suppress(OSError):
            path.unlink()


def remove_directory(directory: Path) -> None:
    """Remove a collection without documents, and its directory if that holds nothing else."""
    clear_unfinished(directory)
    remove_cached(directory)
    with suppress(OSError):  # the caller holds the lock, whose file cannot be removed everywhere
        for name in (LOCK_OWNER, LOCK):
            (directory / name).unlink(missing_ok=True)
        directory.rmdir()


def remove_temporary(directory: Path) -> None:
    """Remove the temporary files of killed writers, which readers do not use; the caller holds the writer's lock."""
    for pattern in _TEMPORARY:
        for path in directory.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(PermissionError):  # a reader has it open, where that keeps it in place
                    path.unlink(missing_ok=True)
