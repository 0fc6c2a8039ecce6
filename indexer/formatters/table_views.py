"""Tables of experiments: for people, as JSON, as CSV."""

import csv
from collections.abc import Mapping
from io import StringIO
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from moverank.indexer.evaluation.result_table import Table, Value
from moverank.indexer.formatters.terminal import shown


def table_view(table: Table) -> RenderableType:
    """Show a row a line, figures to the right, the best of each measure in bold; then what has to be minded."""
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    for name in table.columns:
        grid.add_column(name, justify="left" if name == table.columns[0] else "right")
    best = {name: _best(table, name) for name in table.columns}
    for row in table.rows:
        cells = (Text(_cell(row.get(name)), style="bold" if _is(row.get(name), best[name]) else "") for name in row)
        grid.add_row(*cells)
    facts = ", ".join(f"{name.replace('_', ' ')} {_fact(value)}" for name, value in table.facts.items())
    return Group(grid, Text(facts, style="dim"), *(Text(f"Note: {shown(note)}.") for note in table.notes))


def table_object(table: Table) -> dict[str, Any]:
    """Return a table as JSON values: its rows by name, facts and notes."""
    return {"table": table.name, "rows": [dict(row) for row in table.rows], **table.facts, "notes": list(table.notes)}


def table_csv(table: Table) -> str:
    """Return the rows with a head, comma-separated; what there is no figure for is empty."""
    told = StringIO()
    writer = csv.DictWriter(told, table.columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.rows)
    return told.getvalue()


def _best(table: Table, name: str) -> Value:
    """Return the best figure of a column, None where none is better than another."""
    found = [value for row in table.rows if isinstance(value := row.get(name), float)]
    if name in table.lower or name in table.higher:
        return (min if name in table.lower else max)(found, default=None)
    return None


def _is(value: Value, best: Value) -> bool:
    return best is not None and value == best


def _cell(value: Value) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else shown(str(value))


def _fact(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return " and ".join(f"{shown(str(name))} for {count:,}" for name, count in value.items())
    return f"{value:,}" if isinstance(value, int) else shown(str(value))
