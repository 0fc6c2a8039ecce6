"""The result of an experiment: a row of figures for each method, and the facts needed to read it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Value = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of figures by column name, in the order of the columns; None for a missing figure.

    `facts` describe what was measured (numbers of documents, queries, duplicates), `notes` are warnings. `higher` and
    `lower` name the columns in which the highest or the lowest figure is the best.
    """

    name: str
    rows: tuple[Mapping[str, Value], ...]
    facts: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    higher: tuple[str, ...] = ()
    lower: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of all columns, in the order of their first occurrence."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row))
