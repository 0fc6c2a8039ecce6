"""The manifest of a directory of word vectors: sizes, source, options, fingerprint, checksums."""

from pathlib import Path
from typing import Any

from moverank.indexer.errors import DamagedFile, VectorsError
from moverank.indexer.files.checksums import read_checksummed_json

REPAIR_HINT = "`moverank check --repair` restores the word vectors"

VERSION = 2
"""Version of the directory's layout."""

MANIFEST = "embedding.json"


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
