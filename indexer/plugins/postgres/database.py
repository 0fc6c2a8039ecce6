"""A database in a schema of PostgreSQL: its engine, the writer's lock, and errors of psycopg.

One process at a time writes: it holds an advisory lock, in a session of its own, whose name identifies the process.
Each of its transactions holds a second lock, and checks that the session still holds the first: if that session was
lost, another process may have written meanwhile.
"""

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote

from sqlalchemy import URL, Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import DatabaseError, OperationalError, SQLAlchemyError

from moverank.indexer.errors import CollectionError, ConnectionLost, LockedError, NoPermission
from moverank.indexer.files.location import without_passwords
from moverank.indexer.files.writer_lock import still_locked
from moverank.indexer.plugins.postgres.rows import PostgresRows
from moverank.indexer.store.engines import LOST, TRANSLATORS, Database, database_errors

_log = logging.getLogger("moverank")

_POLL = 0.2  # seconds between two attempts to get the writer's lock
_LONGEST_NAME = 63  # bytes of application_name
_LIMITS = {
    "connect_timeout": 10,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""Seconds (milliseconds for the last), after which a server whose machine or network is gone counts as lost."""

_WRITER, _TRANSACTION = (
    f"hashtextextended('moverank {purpose} ' || current_schema(), 0)" for purpose in ("writer", "transaction")
)
_TAKE = text(f"SELECT pg_try_advisory_lock({_WRITER})")
_RELEASE = text(f"SELECT pg_advisory_unlock({_WRITER})")
_WAIT_FOR_TRANSACTION = text(f"SELECT pg_advisory_xact_lock({_TRANSACTION}), pg_current_xact_id()::text AS number")
_OUTCOME = text("SELECT pg_xact_status(CAST(CAST(:number AS text) AS xid8))")
_HOLDER = text(
    "SELECT a.pid, a.application_name, a.client_addr::text, a.backend_start FROM pg_locks l "
    "JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 "
    "AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    f"AND (l.classid::bigint << 32) + l.objid::bigint = {_WRITER}"
)


_LONGEST_WAIT = 2  # seconds that a migration waits for a lock
_USERS = text(
    "SELECT DISTINCT a.pid, a.application_name, a.usename, a.state, a.xact_start FROM pg_locks l "
    "JOIN pg_class c ON c.oid = l.relation JOIN pg_stat_activity a ON a.pid = l.pid "
    "WHERE c.relnamespace = current_schema()::regnamespace AND l.granted AND a.pid <> pg_backend_pid() "
    "AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY a.xact_start LIMIT 5"
)


_ENDED = ("08", "57P", "25P03")
"""SQLSTATEs of PostgreSQL, by their beginnings: connection exceptions, and sessions ended by a person or a limit."""

_NO_PERMISSION, _LOCKED = "42501", "55P03"

_UNREACHABLE = (
    "connection failed",
    "connection is bad",
    "connection timeout",
    "failed to resolve host",
    "invalid connection option",
    'missing "="',
)
"""How psycopg's messages begin if it could not connect."""

# A B-tree holds no value of more than 2,704 bytes, which words and paths may have, and only a B-tree can be UNIQUE.
_CONSTRAINTS = (
    "ALTER TABLE sources ADD CONSTRAINT uq_sources_place EXCLUDE USING hash (place WITH =)",
    "ALTER TABLE words ADD CONSTRAINT uq_words_word EXCLUDE USING hash (word WITH =)",
    "CREATE INDEX ix_documents_source ON documents (source)",
)


class PostgresDatabase(Database):
    """A schema of PostgreSQL that is open."""

    rows = PostgresRows

    def __init__(self, url: str) -> None:
        self.place, self.engine = without_passwords(url), postgres_engine(url)
        _, self._schema = _address(url)
        self._process: int | None = None  # of the session that holds the writer's lock
        TRANSLATORS["psycopg"] = _translated

    @contextmanager
    def locked(self, wait: float) -> Iterator[None]:
        """Hold the writer's lock during the block; LockedError, which names the owner, after `wait` seconds."""
        if self._process is not None:  # a caller holds it
            yield
            return
        with ExitStack() as opened:
            with database_errors():
                options = {"isolation_level": "AUTOCOMMIT"}
                session = opened.enter_context(self.engine.connect().execution_options(**options))
                self._take(session, wait)
                self._process = session.scalar(text("SELECT pg_backend_pid()"))
            try:
                yield
            finally:
                self._process = None
                try:
                    session.execute(_RELEASE)
                except SQLAlchemyError:
                    session.invalidate()  # ends the session, and with it the lock

    def _take(self, session: Connection, wait: float) -> None:
        until, told = time.monotonic() + wait, False
        while not session.scalar(_TAKE):
            owner = _owner(session)
            if time.monotonic() >= until:
                raise still_locked(owner, "the database", wait)
            if not told:
                _log.warning("waiting for %s", owner)
                told = True
            time.sleep(_POLL)

    def options(self, *, write: bool) -> dict[str, Any]:
        """Return the options of a connection: a reader's transaction sees one state, a writer's the last commits."""
        return {"isolation_level": "READ COMMITTED" if write else "REPEATABLE READ", "postgresql_readonly": not write}

    def begin_writing(self, connection: Connection) -> Callable[[Connection], bool]:
        """Begin a writer's transaction: wait for others, and raise ConnectionLost if the held lock is lost."""
        number = str(connection.execute(_WAIT_FOR_TRANSACTION).one().number)
        if self._process is not None:
            holder = connection.execute(_HOLDER).first()
            if holder is None or holder.pid != self._process:
                raise ConnectionLost(
                    "the session that held the lock for writing was ended: nothing was changed; try again"
                )
        return partial(_has_committed, number=number)

    def begin_migration(self, connection: Connection) -> None:
        """Create the schema unless it exists, and limit the time that statements wait: all others wait behind them."""
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_LONGEST_WAIT}s'")
        connection.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{self._schema}"')

    def finish_tables(self, connection: Connection) -> None:
        """Add the constraints and indexes on long values."""
        for statement in _CONSTRAINTS:
            connection.exec_driver_sql(statement)

    def users(self, connection: Connection) -> str:
        """Return the sessions whose transactions use tables of the schema, the oldest first; an empty text for none."""
        return ", ".join(
            f"{row.application_name or row.usename} (process {row.pid} of the database, {row.state}, since "
            f"{row.xact_start.astimezone().isoformat(timespec='seconds')})"
            for row in connection.execute(_USERS)
        )


def postgres_engine(url: str) -> Engine:
    """Return an engine for the schema that `url` names, `public` if none; CollectionError without the extra."""
    if find_spec("psycopg") is None:
        raise CollectionError("PostgreSQL needs the package psycopg: python -m pip install 'moverank[postgres]'")
    for name in ("sqlalchemy.pool", "psycopg"):  # they would print lost connections, which are reported as errors
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
    address, schema = _address(url)
    search_path = f'-csearch_path="{schema}"'  # without quotes, capitals would be small letters
    options = {"options": f"{address.query.get('options', '')} {search_path}", "application_name": _name()}
    limits = {name: value for name, value in _LIMITS.items() if name not in address.query}
    return create_engine(
        address,
        connect_args=options | limits,
        pool_pre_ping=True,
        use_native_hstore=False,
        hide_parameters=True,  # messages are logged
    )


def _has_committed(connection: Connection, number: str) -> bool:
    """Return whether the server has committed a writer's transaction; waits until the transaction has ended."""
    connection.execute(_WAIT_FOR_TRANSACTION)
    return bool(connection.scalar(_OUTCOME, {"number": number}) == "committed")


def _address(url: str) -> tuple[URL, str]:
    made = make_url(url)
    named = made.query.get("schema", "public")
    schema = named if isinstance(named, str) else named[0]
    host = made.host and unquote(made.host)  # the host may be a socket's directory, with slashes
    return made.difference_update_query(["schema"]).set(drivername="postgresql+psycopg", host=host), schema


def _name() -> str:
    """Return the name of this process's sessions; all users of the server see it, so it has no arguments (queries)."""
    name = f"moverank process {os.getpid()} on {socket.gethostname()}"
    return name.encode("ascii", "replace")[:_LONGEST_NAME].decode()


def _owner(session: Connection) -> str:
    holder = session.execute(_HOLDER).first()
    if holder is None:
        return "another process"
    return f"{holder.application_name}, since {holder.backend_start.astimezone().isoformat(timespec='seconds')},"


def _translated(error: Exception, cause: str) -> CollectionError:
    driver = getattr(error, "orig", error)
    state = str(getattr(driver, "sqlstate", None) or "")
    operational = isinstance(error, OperationalError) or type(driver).__name__ == "OperationalError"
    if cause.startswith(_UNREACHABLE):
        return ConnectionLost(f"the database cannot be reached: {cause}")
    if state.startswith(_ENDED) or (operational and not state):
        return ConnectionLost(f"{LOST} ({cause})")
    if state == _LOCKED:
        return LockedError(f"the tables of the database are in use: {cause}")
    if state == _NO_PERMISSION:
        return NoPermission(f"the user of the database may not do this: {cause}")
    refused = not operational and (isinstance(error, DatabaseError) or not isinstance(error, SQLAlchemyError))
    return CollectionError(f"the database {'refused a statement' if refused else 'cannot be used'}: {cause}")
