"""A file that is held open until it is read: a writer may put another in its place before that."""

import os
from pathlib import Path
from weakref import finalize

from moverank.indexer.files.checksums import FileChecksum, check_descriptor


class OpenFile:
    """A file of a snapshot, opened at once and given back when it has been read, or by the garbage collector."""

    def __init__(self, path: Path, seal: FileChecksum | None = None) -> None:
        self.path, self._seal = path, seal
        self.descriptor = os.open(path, os.O_RDONLY)
        self.close = finalize(self, os.close, self.descriptor)

    def check(self) -> None:
        """Raise DamagedFile where the file is not what was sealed; one without a seal is believed."""
        if self._seal is not None:
            check_descriptor(self.path, self.descriptor, self._seal)
