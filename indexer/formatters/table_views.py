"""Tables of experiments as text, JSON and CSV."""

import csv
from collections.abc import Mapping
from io import StringIO
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from moverank.indexer.evaluation.result_table import Table, Value
from moverank.indexer.formatters.escaping import printable


def table_view(table: Table) -> RenderableType:
    """Return the rows, the best figure of each measure in bold, then facts and notes."""
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    for name in table.columns:
        grid.add_column(name, justify="left" if name == table.columns[0] else "right")
    best = {name: _best(table, name) for name in table.columns}
    for row in table.rows:
        cells = (Text(_cell(value), style="bold" if _is_best(value, best[name]) else "") for name, value in row.items())
        grid.add_row(*cells)
    facts = ", ".join(f"{name.replace('_', ' ')} {_fact(value)}" for name, value in table.facts.items())
    return Group(grid, Text(facts, style="dim"), *(Text(f"Note: {printable(note)}.") for note in table.notes))


def table_object(table: Table) -> dict[str, Any]:
    """Return a table as JSON values: rows by column name, facts and notes."""
    return {"table": table.name, "rows": [dict(row) for row in table.rows], **table.facts, "notes": list(table.notes)}


def table_csv(table: Table) -> str:
    """Return the rows with a header, comma-separated; missing figures are empty."""
    text = StringIO()
    writer = csv.DictWriter(text, table.columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.rows)
    return text.getvalue()


def _best(table: Table, name: str) -> Value:
    """Return the best figure of a column; None if neither high nor low figures are better."""
    figures = [value for row in table.rows if isinstance(value := row.get(name), float)]
    if name in table.lower or name in table.higher:
        return (min if name in table.lower else max)(figures, default=None)
    return None


def _is_best(value: Value, best: Value) -> bool:
    return best is not None and value == best


def _cell(value: Value) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else printable(str(value))


def _fact(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return " and ".join(f"{printable(str(name))} for {count:,}" for name, count in value.items())
    return f"{value:,}" if isinstance(value, int) else printable(str(value))
