"""A file that is opened early and read later: a writer may replace it in between."""

import os
from pathlib import Path
from weakref import finalize

from moverank.indexer.files.checksums import FileChecksum, check_descriptor


class OpenFile:
    """A snapshot's file, opened on construction; closed by `close()` or by the garbage collector.

    Without an `expected` checksum, `check` is a no-op.
    """

    def __init__(self, path: Path, expected: FileChecksum | None = None) -> None:
        self.path, self._expected = path, expected
        self.descriptor = os.open(path, os.O_RDONLY)
        self.close = finalize(self, os.close, self.descriptor)

    def check(self) -> None:
        """Raise DamagedFile if the file differs from its checksum."""
        if self._expected is not None:
            check_descriptor(self.path, self.descriptor, self._expected)
