"""A file that is held open until it is read: a writer may put another in its place before that."""

import os
from pathlib import Path
from weakref import finalize


class HeldFile:
    """A file of a snapshot, opened at once and given back when it has been read, or by the garbage collector."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor = os.open(path, os.O_RDONLY)
        self.close = finalize(self, os.close, self.descriptor)
