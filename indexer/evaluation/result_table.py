"""What an experiment tells: a row for each method, and what has to be known to read it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Value = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of figures by name, in the order of their columns; None where there is no figure.

    `facts` say what was measured (how many documents, queries, duplicates), `notes` what to mind. `higher` and `lower`
    are the columns where the highest or the lowest figure is the best.
    """

    name: str
    rows: tuple[Mapping[str, Value], ...]
    facts: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    higher: tuple[str, ...] = ()
    lower: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of all columns, in the order in which they first stand in a row."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row))
