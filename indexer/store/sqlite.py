"""Databases in a SQLite file."""

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from moverank.indexer.store.read_only import ReadOnlyFile

_WRITER_CACHE = 64 << 10  # KiB: rows of many documents change the same pages of indexes


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file, with special characters of its path escaped."""
    return URL.create("sqlite", database=str(path)).render_as_string()


def sqlite_engine(url: str, read_only: ReadOnlyFile | None) -> Engine:
    """Return an engine with explicit transactions, WAL and foreign keys; `read_only`: of a file that is."""
    engine = create_engine(url, creator=read_only.connect) if read_only else create_engine(url)
    pragmas = ["busy_timeout = 5000", "foreign_keys = ON"]
    pragmas += [] if read_only else ["journal_mode = WAL", "synchronous = FULL"]
    pragmas += [] if _has_temporary_files() else ["temp_store = MEMORY"]

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the driver's implicit transactions would commit before a CREATE TABLE
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        write = options.get("moverank_write")
        if not options.get("moverank_keys", True):
            connection.exec_driver_sql("PRAGMA foreign_keys = OFF")  # before BEGIN: a no-op within a transaction
        if write:
            connection.exec_driver_sql(f"PRAGMA cache_size = -{_WRITER_CACHE}")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def copy_file(connection: Connection, path: Path) -> None:
    """Copy one consistent state of the database to a file, even while another process writes."""
    source: Any = connection.connection.driver_connection
    with closing(sqlite3.connect(path)) as target:
        source.backup(target)


def _has_temporary_files() -> bool:
    """Return whether a directory for temporary files is writable: SQLite fails where it needs one and has none."""
    try:
        tempfile.gettempdir()
    except OSError:
        return False
    return True
