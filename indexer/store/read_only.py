"""A SQLite file without write permission: on a read-only file system, or another user's.

SQLite in WAL mode creates two files beside the database. If it cannot, and there is no write-ahead log, the file is
complete by itself and is opened as `immutable`; SQLite then assumes that it does not change, so `changed` checks it.
"""

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class ReadOnlyFile:
    """A database file; `state` is its size and modification time (ns) if there is no write-ahead log, else None."""

    path: Path
    state: tuple[int, int] | None

    @classmethod
    def of(cls, url: str) -> "ReadOnlyFile | None":
        """Return the file of a URL; None if it is writable, or the URL names no SQLite file."""
        from sqlalchemy import make_url

        made = make_url(url)
        path = Path(made.database or "")
        if made.get_backend_name() != "sqlite" or not made.database or not path.is_file():
            return None
        if is_writable(path):
            return None
        log = path.with_name(f"{path.name}-wal")
        written = log.exists() and log.stat().st_size > 0
        return cls(path, None if written else _state(path))

    def connect(self) -> sqlite3.Connection:
        """Open the file read-only; as immutable unless there is a write-ahead log."""
        mode = "mode=ro" if self.state is None else "mode=ro&immutable=1"
        return sqlite3.connect(f"file:{quote(str(self.path.absolute()))}?{mode}", uri=True, check_same_thread=False)

    def changed(self) -> bool:
        """Return whether the file has changed since it was opened as immutable."""
        return self.state is not None and self.state != _state(self.path)


def is_writable(path: Path) -> bool:
    """Return whether SQLite can write to a database file, and create its others beside it."""
    return all(os.access(needed, os.W_OK, effective_ids=True) for needed in (path, path.parent))


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
