"""The directory of a collection that caches the results of experiments."""

import logging
import os
from pathlib import Path

CACHE = "evaluation"

_log = logging.getLogger("moverank")


def cache_directory(index: Path) -> Path | None:
    """Return the directory for results in the collection `index`; None, with a note, if it cannot be written to."""
    directory = index / CACHE
    if os.access(directory if directory.exists() else index, os.W_OK | os.X_OK, effective_ids=True):
        return directory
    _log.warning("%s cannot be written to: distances are computed, but not cached for the next run", index)
    return None
