"""The folder of a collection's word vectors, and its manifest: sizes, source, options, fingerprint, checksums."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moverank.indexer.errors import DamagedFile, VectorsError
from moverank.indexer.files.checksums import check_data, check_names, read_checksummed_json
from moverank.indexer.files.directory import VECTORS

REPAIR_HINT = "`moverank check --repair` restores the word vectors"

VERSION = 3
"""Version of the directory's layout."""

MANIFEST = "embedding.json"
MATRICES = ("vectors", "subwords")
TOKENIZER = "tokenizer.json"
LENGTHS = "lengths"


FINGERPRINT = "fingerprint"
"""Name of the setting that stores the fingerprint of the word vectors; absent until there are any."""

FOLDER = "vectors_folder"
"""Name of the setting that stores the folder of the word vectors; absent for `VECTORS`."""


def vectors_folder(directory: Path, stored: Mapping[str, Any]) -> Path:
    """Return the folder of the word vectors in a collection's `directory`; `stored` are its settings."""
    return directory / Path(str(stored.get(FOLDER, VECTORS))).name


def read_manifest(directory: Path) -> dict[str, Any]:
    """Return the content of embedding.json: sizes, source, options, fingerprint, checksums. Raises VectorsError."""
    path = directory / MANIFEST
    try:
        manifest = read_checksummed_json(path)
    except OSError as error:
        raise VectorsError(f"{directory} holds no word vectors ({error.strerror}): {REPAIR_HINT}") from error
    except DamagedFile as error:
        raise VectorsError(f"{path} is damaged: {REPAIR_HINT}") from error
    if manifest.get("version") != VERSION:
        raise VectorsError(f"{path} is damaged or of another version: {REPAIR_HINT}")
    return manifest


def check_files(directory: Path, manifest: Mapping[str, Any]) -> None:
    """Compare all files with their sizes, and all but matrices with their checksums.

    Raises DamagedFile, OSError, and KeyError for an unusable manifest.
    """
    checksums = manifest["files"]
    check_names(directory, checksums, MANIFEST)
    for name in checksums.keys() - set(MATRICES):
        check_data(directory / name, (directory / name).read_bytes(), checksums[name])
