"""Which folder of a collection's directory holds its word vectors."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moverank.indexer.files.directory import VECTORS

FINGERPRINT = "fingerprint"
"""Name of the setting that stores the fingerprint of the word vectors; absent until there are any."""

FOLDER = "vectors_folder"
"""Name of the setting that stores the folder of the word vectors; absent for `VECTORS`."""


def vectors_folder(directory: Path, stored: Mapping[str, Any]) -> Path:
    """Return the folder of the word vectors in a collection's `directory`; `stored` are its settings."""
    return directory / Path(str(stored.get(FOLDER, VECTORS))).name
