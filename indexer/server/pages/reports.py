"""Files that `evaluate --json` and `--csv` wrote, read as tables."""

import csv
import json
from dataclasses import dataclass
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any

from moverank.indexer.server.pages.bar_chart import Chart, bars
from moverank.indexer.server.problems import Problem

_SUFFIXES = (".json", ".jsonl", ".csv")
_MOST_BYTES = 4 * 2**20
_MOST_ROWS = 500


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table: `rows` (n, m) of texts or numbers under `columns` (m,), facts by name, and notes."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def measures(self) -> tuple[str, ...]:
        """Return the columns of numbers."""
        return tuple(
            name
            for i, name in enumerate(self.columns)
            if any(_is_number(row[i]) for row in self.rows) and all(_is_number(row[i], none=True) for row in self.rows)
        )

    def shown(self, value: object) -> str:
        """Return a value as text."""
        if value is None:
            return "-"
        return f"{value:.4f}" if isinstance(value, float) else str(value)


def _is_number(value: object, *, none: bool = False) -> bool:
    if value is None:
        return none
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def report_names(directory: Path) -> list[str]:
    """Return the names of the files of measurements, the newest first; none if the directory cannot be read."""
    try:
        files = [path for path in directory.iterdir() if path.suffix in _SUFFIXES and path.is_file()]
        return [path.name for path in sorted(files, key=lambda path: (-path.stat().st_mtime, path.name))]
    except OSError:
        return []


def report_tables(path: Path) -> list[ReportTable]:
    """Return the tables of a file; Problem 422 if it has none."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise Problem(422, f"{path.name} is longer than {_MOST_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8-sig")
        tables = [_of_csv(path.stem, text)] if path.suffix == ".csv" else [_of_object(one) for one in _objects(text)]
    except (OSError, ValueError, TypeError, RecursionError, csv.Error) as error:
        raise Problem(422, f"{path.name} is no table that evaluate wrote") from error
    if not tables:
        raise Problem(422, f"{path.name} has no table")
    return tables


def chart_of(table: ReportTable, column: str) -> tuple[str, Chart] | None:
    """Return the name of a column, the one named if the table has it, else its first measure, and its bars."""
    names = table.measures
    if not names:
        return None
    chosen = column if column in names else names[0]
    place = table.columns.index(chosen)
    numbers = [(str(row[0]), float(row[place])) for row in table.rows if row[place] is not None]
    return chosen, bars(numbers)


def _objects(text: str) -> list[Any]:
    """Return the object of a file, those of an array, or one of each line."""
    try:
        value = json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return value if isinstance(value, list) else [value]


def _of_object(value: Any) -> ReportTable:
    """Return the table of an object of `evaluate --json`; TypeError and ValueError if it is none."""
    if not isinstance(value, dict) or not isinstance(value.get("rows"), list):
        raise TypeError("no table")
    rows = value["rows"][:_MOST_ROWS]
    if not all(isinstance(row, dict) for row in rows):
        raise TypeError("no rows")
    columns = tuple(dict.fromkeys(str(name) for row in rows for name in row))
    facts = [(name, _fact(one)) for name, one in value.items() if name not in ("table", "rows", "notes")]
    notes = tuple(str(note) for note in value.get("notes") or ())
    cells = tuple(tuple(_cell(row.get(name)) for name in columns) for row in rows)
    return ReportTable(str(value.get("table", "")), columns, cells, tuple(facts), notes)


def _of_csv(name: str, text: str) -> ReportTable:
    header, *rows = list(csv.reader(StringIO(text))) or [[]]
    cells = tuple(tuple(_parsed(cell) for cell in row) for row in rows[:_MOST_ROWS] if len(row) == len(header))
    if not header:
        raise ValueError("no header")
    return ReportTable(name, tuple(header), cells)


def _parsed(cell: str) -> Any:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell or None


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float | str) else json.dumps(value)


def _fact(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {one}" for name, one in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)
