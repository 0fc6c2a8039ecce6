"""Tables that `evaluate --json` and `--csv` wrote, with bars in percent of the longest."""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from moverank.indexer.server.pages.rendering import PageValues, error_page, rendered
from moverank.indexer.server.pages.typed_form import TypedForm
from moverank.indexer.server.problems import HttpProblem


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its name, its number as text, and its `width` in percent."""

    name: str
    value: str
    width: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars below one another; `limit` is the place of a line in percent."""

    bars: tuple[Bar, ...]
    limit: float | None = None


def bars(numbers: Sequence[tuple[str, float]], limit: float | None = None) -> Chart:
    """Return a chart of numbers of 0 or more; negative ones have no bar. `limit`: a line is drawn at this number."""
    longest = max((*(value for _, value in numbers), limit or 0.0), default=0.0) or 1.0
    drawn = [Bar(name, f"{value:.4f}", round(100 * max(0.0, value) / longest, 2)) for name, value in numbers]
    return Chart(tuple(drawn), None if limit is None else round(100 * limit / longest, 2))


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
            return "\N{EN DASH}"
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
    """Return the tables of a file; HttpProblem 422 if it has none."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise HttpProblem(422, f"{path.name} is longer than {_MOST_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8-sig")
        tables = [_of_csv(path.stem, text)] if path.suffix == ".csv" else [_of_object(one) for one in _objects(text)]
    except (OSError, ValueError, TypeError, RecursionError, csv.Error) as error:
        raise HttpProblem(422, f"{path.name} is no table that evaluate wrote") from error
    if not tables:
        raise HttpProblem(422, f"{path.name} has no table")
    return tables


def chart_of(table: ReportTable, column: str) -> tuple[str, Chart] | None:
    """Return the name and the bars of a column: the named one, or, if the table lacks it, its first measure."""
    names = table.measures
    if not names:
        return None
    chosen = column if column in names else names[0]
    place = table.columns.index(chosen)
    numbers = [(str(row[0]), float(row[place])) for row in table.rows if row[place] is not None]
    return chosen, bars(numbers)


_LARGER, _SMALLER = "larger is better", "smaller is better"
_WAYS = {
    **dict.fromkeys(("error", "hubness", "solved", "p", "p_bm25"), _SMALLER),
    **dict.fromkeys(("map", "rprec", "mrr", "p@", "ndcg@", "recall", "recall@", "f1@", "improvement@"), _LARGER),
    **dict.fromkeys(("tightness", "true 10 in 10", "true 10 in 100"), _LARGER),
}
"""Whether larger or smaller values of the columns of `evaluate` are better; a smaller p of a test is surer."""


def direction_of(column: str) -> str:
    """Return whether larger or smaller numbers of a column are better; "" if unknown."""
    kind, at, _ = column.partition("@")
    return _WAYS.get(kind + at, "")


def _objects(text: str) -> list[Any]:
    """Return the objects of a file: a single one, the elements of an array, or one of each line."""
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


def measurements_router(directory: Path | None) -> APIRouter:
    """Return the route of the page; `directory` has the files, None: there are none."""
    router = APIRouter()

    @router.get("/measurements")
    def measurements_page(request: Request) -> HTMLResponse:
        """Show the tables of the file that was chosen, by default the newest."""
        form = TypedForm.of(request.query_params.multi_items())
        values: PageValues = {
            "page": "measurements",
            "form": form,
            "has_directory": directory is not None,
            "direction_of": direction_of,
            "chosen": "",
            "tables": [],
        }
        values["names"] = names = report_names(directory) if directory else []
        try:
            found = _read(directory, names, form) if directory and names else {}
            return rendered(request, "measurements.html", values | found)
        except HttpProblem as error:
            return error_page(request, "measurements.html", values, error)

    return router


def _read(directory: Path, names: list[str], form: TypedForm) -> PageValues:
    """Return the tables of the chosen one of the files `names`; HttpProblem 404 and 422."""
    chosen = form.one("file") or names[0]
    if chosen not in names:
        raise HttpProblem(404, f"there is no file {chosen!r} among the measurements")
    tables = [(table, chart_of(table, form.one("column"))) for table in report_tables(directory / chosen)]
    return {"chosen": chosen, "tables": tables}
