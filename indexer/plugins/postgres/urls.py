"""The URLs of PostgreSQL's databases: which of them are the same, and opening one."""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

from moverank.indexer.errors import UsageError
from moverank.indexer.files.location import without_passwords
from moverank.indexer.files.systems import user_id

if TYPE_CHECKING:
    from moverank.indexer.plugins.postgres.database import PostgresDatabase

_VARIABLES = {
    "user": "PGUSER",
    "host": "PGHOST",
    "hostaddr": "PGHOSTADDR",
    "port": "PGPORT",
    "dbname": "PGDATABASE",
    "service": "PGSERVICE",
}
"""Variables of PostgreSQL's library that choose the database or its user, by the URL parameter that overrides each."""

_SCHEMA = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


class Postgres:
    """Schemas of PostgreSQL by their URLs; see `indexer.files.databases`."""

    NAME = "postgresql"
    FORM = "postgresql://USER@HOST/DATABASE?schema=SCHEMA"

    @classmethod
    def identity(cls, url: str) -> tuple[str, str]:
        """Return the schema of a URL, and a text of it with the environment's variables; UsageError for an invalid URL.

        Each user and role has its own, since they may see other rows. Only the password makes no difference.
        """
        try:
            parts = urlsplit(url)
            user, host, port = parts.username, parts.hostname, parts.port
        except ValueError as error:  # do not show the URL: it may have a password anywhere
            raise UsageError(
                f"the URL of the database is invalid: it must be {cls.FORM}, where special characters of names and "
                "passwords are percent-encoded, as %40 for @, and a port is a number"
            ) from error
        query = parse_qs(parts.query, keep_blank_values=True)
        named = query.get("schema", ["public"])
        if len(named) != 1 or not _SCHEMA.fullmatch(named[0]) or parts.fragment:
            raise UsageError(
                f"{without_passwords(url)}: the schema must be one name of letters, digits and _, as in ?schema=forum"
            )
        given = {"user": user, "host": host, "port": port, "dbname": parts.path.strip("/")} | query
        added = {name: os.environ.get(variable) for name, variable in _VARIABLES.items() if not given.get(name)}
        service = query.get("service", [added.get("service")])[0]
        if service:
            added["section"] = repr(_section(service))
        others = without_passwords(f"//?{parts.query}")
        return named[0], repr((user, host, port, unquote(parts.path), others, added, user_id()))

    @staticmethod
    def open(url: str) -> "PostgresDatabase":
        """Open a database; CollectionError without the extra."""
        from moverank.indexer.plugins.postgres.database import PostgresDatabase  # it imports SQLAlchemy

        return PostgresDatabase(url)


def _section(service: str) -> list[str]:
    """Return the lines of a service in PostgreSQL's service files, such as user and host, without the password."""
    own = os.environ.get("PGSERVICEFILE") or os.path.expanduser("~/.pg_service.conf")  # noqa: PTH111 - never fails
    found, inside = list[str](), False
    for path in (own, f"{os.environ.get('PGSYSCONFDIR', '')}/pg_service.conf"):
        with suppress(OSError):
            for line in map(str.strip, Path(path).read_text(encoding="utf-8", errors="replace").splitlines()):
                inside = line == f"[{service}]" if line.startswith("[") else inside
                found += [line] if inside and not line.startswith(("#", "password")) else []
    return found
