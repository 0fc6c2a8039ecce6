"""Read queries to the state of a database, in SQL: they need no SQLAlchemy where the standard library can run them."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

REMOVALS_FORGOTTEN = "removals_forgotten"
"""Name of the setting that stores the revision up to which removals are no longer recorded."""


class StateReader(ABC):
    """Reads one consistent state of a database, by statements that SQLite and PostgreSQL both understand."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return every setting by name."""

    @abstractmethod
    def _selected(self, statement: str) -> Iterator[Any]:
        """Iterate over the rows that a SELECT finds, all of which may be in memory."""

    def _streamed(self, statement: str) -> Iterator[Any]:
        """Iterate over the rows that a SELECT finds without holding them all in memory."""
        return self._selected(statement)

    def _column(self, statement: str) -> list[Any]:
        return [value for (value,) in self._selected(statement)]

    def _number(self, statement: str) -> int:
        """Return the value that a SELECT finds, 0 for NULL and if there is none."""
        return int((self._column(statement) or [0])[0] or 0)

    def revision(self) -> int:
        """Return the number of the last change, 0 before the first."""
        return self._number("SELECT max(number) FROM revisions")

    def token(self, revision: int) -> str | None:
        """Return the token that distinguishes a revision from the same number of another history; None if absent."""
        found = self._column(f"SELECT token FROM revisions WHERE number = {int(revision)}")  # noqa: S608
        return found[0] if found else None

    def forgotten(self) -> int:
        """Return the revision up to which removals are no longer recorded."""
        stored = self._column(f"SELECT CAST(value AS TEXT) FROM settings WHERE name = '{REMOVALS_FORGOTTEN}'")  # noqa: S608
        return int(json.loads(stored[0]) or 0) if stored and stored[0] else 0

    def changed_ids(self, since: int) -> list[int]:
        """Return the ids of documents changed after a revision, increasing."""
        # Sorted here: SQLite would read all documents in the order of their ids instead of the few by their revisions.
        return sorted(self._column(f"SELECT id FROM documents WHERE revision > {int(since)}"))  # noqa: S608

    def removed_ids(self, since: int) -> list[int]:
        """Return the ids of documents removed after a revision."""
        return self._column(f"SELECT document_id FROM removals WHERE revision > {int(since)}")  # noqa: S608

    def document_count(self) -> int:
        """Return the number of documents."""
        return self._number("SELECT count(*) FROM documents")
