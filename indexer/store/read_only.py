"""A SQLite file in a place where nothing can be written: on a read-only file system, or another user's.

SQLite in WAL mode needs two files beside the database, and makes them. Where it cannot, and there is no log of a
writer, the file is whole by itself and may be read as one that does not change (`immutable`): whether that held is
asked later.
"""

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import make_url


@dataclass(frozen=True, slots=True)
class ReadOnlyFile:
    """A database file to be read only, with size and time if nobody was writing to it."""

    path: Path
    state: tuple[int, int] | None

    @classmethod
    def of(cls, url: str) -> "ReadOnlyFile | None":
        """Return what is at a URL, None where it can be written to or is no file."""
        made = make_url(url)
        path = Path(made.database or "")
        if made.get_backend_name() != "sqlite" or not made.database or not path.is_file():
            return None
        if all(os.access(needed, os.W_OK, effective_ids=True) for needed in (path, path.parent)):
            return None
        log = path.with_name(f"{path.name}-wal")
        written = log.exists() and log.stat().st_size > 0
        return cls(path, None if written else _state(path))

    def connect(self) -> sqlite3.Connection:
        """Open the file; where a writer has a log there, with the files that it has made."""
        how = "mode=ro" if self.state is None else "mode=ro&immutable=1"
        return sqlite3.connect(f"file:{quote(str(self.path.absolute()))}?{how}", uri=True, check_same_thread=False)

    def moved(self) -> bool:
        """Say whether the file was changed though it was read as one that nobody changes."""
        return self.state is not None and self.state != _state(self.path)


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
