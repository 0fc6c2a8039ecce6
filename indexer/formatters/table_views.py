"""Tables of experiments as text, JSON and CSV."""

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Column
from rich.table import Table as Grid
from rich.text import Text

from moverank.indexer.evaluation.result_table import Table, Value
from moverank.indexer.formatters.escaping import printable

_LONGEST = 24
"""The characters of a ranking that stays in its row where a table is too wide; longer ones get a letter."""
_GAP = 2  # columns between two columns of a table


def table_view(table: Table) -> RenderableType:
    """Return the rows, the best figure of each measure in bold, then facts and notes.

    No figure is cut: in a narrow terminal the names of long rankings are in a legend, and columns that have no place
    are below the others.
    """
    facts = ", ".join(f"{name.replace('_', ' ')} {_fact(value)}" for name, value in table.facts.items())
    notes = (Text(f"Note: {printable(note)}.") for note in table.notes)
    return Group(_Rows(table), Text(facts, style="dim"), *notes)


class _Rows:
    """The rows of a table, which fit the width of the console that prints them."""

    def __init__(self, table: Table) -> None:
        self._columns, self._best = table.columns, {name: _best(table, name) for name in table.columns}
        self._rows = table.rows
        first, *_ = self._columns or ("",)
        self._names = [_cell(row.get(first)) for row in table.rows]

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        names, legend = self._names, list[tuple[str, str]]()
        widths = {name: max(len(name), *(len(_cell(row.get(name))) for row in self._rows)) for name in self._columns}
        others = sum(_GAP + widths[name] for name in self._columns[1:])
        if max(map(len, names), default=0) + others > options.max_width:
            names, legend = _with_letters(names)
        width = max(map(len, (self._columns[0], *names)))
        for block in _blocks(self._columns[1:], widths, options.max_width - width):
            yield self._grid(names, block)
        if legend:
            names_of = Grid.grid(Column(no_wrap=True), Column(overflow="fold"), padding=(0, 1))
            for letter, name in legend:
                names_of.add_row(Text(f"[{letter}]"), Text(name))
            yield names_of

    def _grid(self, names: Sequence[str], columns: Sequence[str]) -> Grid:
        grid = Grid(box=None, pad_edge=False, header_style="dim")
        grid.add_column(self._columns[0].replace("_", " "), no_wrap=True)
        for name in columns:
            grid.add_column(name.replace("_", " "), justify="right", no_wrap=True)
        for shown, row in zip(names, self._rows, strict=True):
            values = [(row.get(name), self._best[name]) for name in columns]
            cells = (Text(_cell(value), style="bold" if _is_best(value, best) else "") for value, best in values)
            grid.add_row(Text(shown), *cells)
        return grid


def _with_letters(names: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return names with long ones replaced by [a], [b], ..., and the long name of each letter."""
    long = dict.fromkeys(name for name in names if len(name) > _LONGEST)
    letters = {name: _letters(i) for i, name in enumerate(long)}
    shown = [f"[{letters[name]}]" if name in letters else name for name in names]
    return shown, [(letter, name) for name, letter in letters.items()]


def _letters(i: int) -> str:
    """Return a, b, ..., z, aa, ab, ... for 0, 1, ..., 25, 26, 27, ..."""
    return ("" if i < 26 else _letters(i // 26 - 1)) + chr(ord("a") + i % 26)


def _blocks(columns: Sequence[str], widths: Mapping[str, int], limit: int) -> list[list[str]]:
    """Return the columns in blocks, none of which is wider than `limit` unless it has a single column."""
    blocks: list[list[str]] = [[]]
    for name in columns:
        if blocks[-1] and sum(_GAP + widths[each] for each in (*blocks[-1], name)) > limit:
            blocks.append([])
        blocks[-1].append(name)
    return blocks


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
    if isinstance(value, list):
        return " ".join(f"{number:g}" for number in value)
    return f"{value:,}" if isinstance(value, int) else printable(str(value))
