"""Tables of experiments as text, JSON, CSV, and as figures drawn with matplotlib, one for each kind of table."""

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Column
from rich.table import Table as Grid
from rich.text import Text

from moverank.indexer.errors import IndexerError, UsageError
from moverank.indexer.files.atomic_write import check_writable
from moverank.indexer.formatters.escaping import printable
from moverank.indexer.plugins.laboratory.experiments import WEIGHTS
from moverank.indexer.plugins.laboratory.method import Figure, Table

_LONGEST = 24
"""The most characters of a ranking's name in a row of a table that is too wide; longer names get a letter."""
_GAP = 2  # columns between two columns of a table


def table_view(table: Table) -> RenderableType:
    """Return the rows, the best figure of each measure in bold, then facts and notes.

    No figure is cut: in a narrow terminal a legend has long names, and further columns are below the others.
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


def _best(table: Table, name: str) -> Figure:
    """Return the best figure of a column; None if neither high nor low figures are better."""
    figures = [value for row in table.rows if isinstance(value := row.get(name), float)]
    if name in table.lower or name in table.higher:
        return (min if name in table.lower else max)(figures, default=None)
    return None


def _is_best(value: Figure, best: Figure) -> bool:
    return best is not None and value == best


def _cell(value: Figure) -> str:
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


_NO_RECALL = "a recall curve needs measures such as recall@1 and recall@10: name them by --measure"
_RANDOM = "random"
_LINES, _MARKERS = ("-", "--", ":", "-."), "os^Dv*Px"
"""The style of a line changes when the ten colours are used up; each line has the next marker."""
_WIDEST = 34
"""The most characters of a name in a legend beside the axes; with longer names the legend is below the axes."""


def check_figure(path: Path, measures: Sequence[str] | None = None) -> None:
    """Raise, before any work, the error of `draw` for a file or for the names of measures (None: the usual ones).

    Raises UsageError for a file that cannot be written, an unknown format, and measures without a recall; IndexerError
    if matplotlib is missing.
    """
    check_writable(path)
    figure_class = _figure_class()
    if path.suffix[1:] not in figure_class().canvas.get_supported_filetypes():
        raise UsageError(f"{path}: name a figure .svg, .pdf or .png")
    if measures and not any(name.startswith("recall@") for name in measures):
        raise UsageError(_NO_RECALL)


def _figure_class() -> Any:
    """Return matplotlib's class of figures; IndexerError if it cannot be imported."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise IndexerError("figures need matplotlib: pip install 'moverank[plot]'") from error
    except OSError as error:  # its cache cannot be written
        raise IndexerError(f"figures cannot be drawn: {error}") from error
    return Figure


def draw(table: Table, path: Path) -> None:
    """Draw a table into a file, in the format of its suffix: svg, pdf or png.

    `retrieval`: recall by k (Trapp et al. 2017, figure 1), or the first measure by gamma if the table has a grid of
    gammas; `knn`: errors with deviations (Kusner et al. 2015, fig. 3); `bounds`: tightness and neighbours found (figure
    5); `prefetch and prune`: recall and work by m (figure 7). Raises UsageError for another kind of table or format,
    IndexerError if matplotlib is missing or the file cannot be written.
    """
    figure_class = _figure_class()
    drawer = _by_gamma if "grid" in table.facts else _DRAWERS.get(table.name)
    if drawer is None:
        raise UsageError(f"there is no figure of {table.name}: choose {', '.join(_DRAWERS)}")
    # pyplot would keep the figure for the lifetime of the process, and could open a window.
    figure = figure_class(figsize=(7, 4.5), layout="constrained")
    drawer(figure, table)
    try:
        figure.savefig(path)
    except ValueError as error:
        raise UsageError(f"{path}: name a figure .svg, .pdf or .png: {error}") from error
    except OSError as error:
        raise IndexerError(f"{path}: cannot be written: {error.strerror}") from error


def _recall(figure: Any, table: Table) -> None:
    """Draw a line for each method over the k of its recall columns."""
    axes = figure.subplots()
    cuts = sorted(int(name.removeprefix("recall@")) for name in table.columns if name.startswith("recall@"))
    if not cuts:
        raise UsageError(_NO_RECALL)
    names = [str(k) for k in cuts]  # evenly spaced: on a linear scale up to 100, 1, 5 and 10 would overlap
    for i, row in enumerate(table.rows):
        axes.plot(names, [_number(row[f"recall@{k}"]) for k in cuts], label=str(row["method"]), **_style(i))
    axes.set(xlabel="k", ylabel="recall@k", ylim=(0, 1))
    _legend(figure, [str(row["method"]) for row in table.rows])


def _by_gamma(figure: Any, table: Table) -> None:
    """Draw the first measure over gamma, with a line for each kind of weights; the row `chosen` is horizontal."""
    axes, measure, grid = figure.subplots(), table.higher[0], [_number(gamma) for gamma in table.facts["grid"]]
    order = sorted(range(len(grid)), key=lambda i: grid[i])
    for i, weights in enumerate(WEIGHTS):
        rows = table.rows[i * len(grid) : (i + 1) * len(grid)]
        values = [_number(rows[j][measure]) for j in order]
        axes.plot([grid[j] for j in order], values, label=f"weights {weights}", **_style(i))
    for row in table.rows[len(WEIGHTS) * len(grid) :]:
        axes.axhline(_number(row[measure]), color="0.4", linestyle="--", label=f"{row['method']} on other queries")
    axes.set(xlabel="gamma", ylabel=measure)
    _legend(figure, ["chosen on other queries"])


def _style(i: int) -> dict[str, Any]:
    """Return the style of line i: the first forty lines differ."""
    return {"color": f"C{i % 10}", "linestyle": _LINES[i // 10 % len(_LINES)], "marker": _MARKERS[i % len(_MARKERS)]}


def _legend(figure: Any, names: Sequence[str]) -> None:
    """Put the legend outside of the axes, and reserve space for it."""
    width, height = figure.get_size_inches()
    longest = max(map(len, names), default=0)
    if longest <= _WIDEST:
        figure.set_size_inches(width + 0.6 + 0.075 * longest, max(height, 0.5 + 0.19 * len(names)))
        figure.legend(loc="outside right upper", fontsize="small", handlelength=3.5)
        return
    figure.set_size_inches(max(width, 0.6 + 0.075 * longest), height + 0.19 * len(names))
    figure.legend(loc="outside lower left", fontsize="small", handlelength=3.5)


def _errors(figure: Any, table: Table) -> None:
    """Draw a bar for each method; the error of random choice, many times as large, is a note."""
    axes = figure.subplots()
    rows = [row for row in table.rows if row["method"] != _RANDOM] or list(table.rows)
    errors, deviations = ([100 * _number(row[name]) for row in rows] for name in ("error", "deviation"))
    bars = axes.barh(range(len(rows)), errors, xerr=deviations, color="C0", ecolor="0.3")
    axes.bar_label(bars, fmt="%.1f", padding=3, fontsize="small")
    axes.set_yticks(range(len(rows)), [str(row["method"]) for row in rows], fontsize="small")
    axes.invert_yaxis()
    axes.margins(x=0.12)
    chance = [f" (random: {100 * _number(row['error']):.1f})" for row in table.rows if row not in rows]
    axes.set(xlabel="test error %" + "".join(chance))
    longest = max(len(str(row["method"])) for row in rows)
    figure.set_size_inches(4.5 + 0.075 * longest, 1.2 + 0.28 * len(rows))


def _bounds(figure: Any, table: Table) -> None:
    """Draw the tightness of each bound, and beside it the share of the true neighbours that it finds."""
    names = [str(row["bound"]) for row in table.rows]
    columns = [name for name in table.columns if name == "tightness" or name.startswith("true")]
    for axes, column in zip(figure.subplots(1, len(columns), sharey=True, squeeze=False)[0], columns, strict=True):
        axes.barh(names, [_number(row[column]) for row in table.rows])
        axes.set(title=column, xlim=(0, 1))
    axes.invert_yaxis()  # once: the axes share it


def _depths(figure: Any, table: Table) -> None:
    """Draw recall and the number of distances computed over m."""
    axes, rows = figure.subplots(), table.rows
    depths = [_number(row["m"]) for row in rows]
    axes.plot(depths, [_number(row["recall"]) for row in rows], marker="o", label="recall of the true ten")
    axes.set(xlabel="m, candidates by centroid", ylabel="recall", xscale="log", ylim=(0, 1.02))
    right = axes.twinx()
    right.plot(depths, [_number(row["solved"]) for row in rows], marker="s", color="C1", label="distances computed")
    right.set(ylabel="distances computed")
    figure.legend(loc="outside upper center", ncols=2, fontsize="small")


def _number(value: Figure) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


_DRAWERS = {"retrieval": _recall, "knn": _errors, "bounds": _bounds, "prefetch and prune": _depths}
