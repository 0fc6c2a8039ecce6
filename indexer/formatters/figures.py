"""Figures of experiments, as in the papers: one for each kind of table, drawn with matplotlib."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from moverank.indexer.errors import IndexerError, UsageError
from moverank.indexer.evaluation.result_table import Table, Value
from moverank.indexer.files.atomic_write import check_writable

_NO_RECALL = "a recall curve needs measures such as recall@1 and recall@10: name them by --measure"


def check_figure(path: Path, measures: Sequence[str] | None = None) -> None:
    """Raise, before any work, what `draw` would raise for a file or for the names of measures (None: the usual ones).

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
    except OSError as error:  # there is no place for its cache
        raise IndexerError(f"figures cannot be drawn: {error}") from error
    return Figure


def draw(tables: Sequence[Table], path: Path) -> None:
    """Draw tables of one kind into a file, in the format of its suffix: svg, pdf or png.

    `retrieval`: recall by k (Trapp et al. 2017, figure 1); `knn`: errors with deviations (Kusner et al. 2015, fig. 3);
    `bounds`: tightness and neighbours found (figure 5); `prefetch and prune`: recall and work by m (figure 7). Raises
    UsageError for another kind of table or format, IndexerError if matplotlib is missing or the file cannot be written.
    """
    figure_class = _figure_class()
    drawer = _DRAWERS.get(tables[0].name)
    if drawer is None:
        raise UsageError(f"there is no figure of {tables[0].name}: choose {', '.join(_DRAWERS)}")
    # pyplot would keep the figure for the lifetime of the process, and could open a window.
    figure = figure_class(figsize=(7, 4.5), layout="constrained")
    drawer(figure, tables)
    try:
        figure.savefig(path)
    except ValueError as error:
        raise UsageError(f"{path}: name a figure .svg, .pdf or .png: {error}") from error
    except OSError as error:
        raise IndexerError(f"{path}: cannot be written: {error.strerror}") from error


def _recall(figure: Any, tables: Sequence[Table]) -> None:
    """Draw a line for each method over the k of its recall columns."""
    axes = figure.subplots()
    table = tables[0]
    cuts = sorted(int(name.removeprefix("recall@")) for name in table.columns if name.startswith("recall@"))
    if not cuts:
        raise UsageError(_NO_RECALL)
    names = [str(k) for k in cuts]  # evenly spaced: on a linear scale up to 100, 1, 5 and 10 would overlap
    for row in table.rows:
        axes.plot(names, [_number(row[f"recall@{k}"]) for k in cuts], marker="o", label=str(row["method"]))
    axes.set(xlabel="k", ylabel="recall@k", ylim=(0, 1))
    axes.legend(fontsize="small")


def _errors(figure: Any, tables: Sequence[Table]) -> None:
    """Draw a group of bars for each data set, a bar for each method."""
    axes = figure.subplots()
    labels = list(dict.fromkeys(str(row["method"]) for table in tables for row in table.rows))
    width = 0.8 / len(labels)
    for i, label in enumerate(labels):
        bars = [(x, row) for x, table in enumerate(tables) for row in table.rows if row["method"] == label]
        centres = [x + (i - (len(labels) - 1) / 2) * width for x, _ in bars]
        heights = [100 * _number(row["error"]) for _, row in bars]
        axes.bar(centres, heights, width, yerr=[100 * _number(row["deviation"]) for _, row in bars], label=label)
    axes.set(ylabel="test error %", xticks=range(len(tables)))
    axes.set_xticklabels([str(table.facts.get("data", "")) for table in tables])
    axes.legend(fontsize="small")


def _bounds(figure: Any, tables: Sequence[Table]) -> None:
    """Draw the tightness of each bound, and beside it the share of the true neighbours that it finds."""
    table = tables[0]
    names = [str(row["bound"]) for row in table.rows]
    columns = [name for name in table.columns if name == "tightness" or name.startswith("true")]
    for axes, column in zip(figure.subplots(1, len(columns), sharey=True), columns, strict=True):
        axes.barh(names, [_number(row[column]) for row in table.rows])
        axes.set(title=column, xlim=(0, 1))
        axes.invert_yaxis()


def _depths(figure: Any, tables: Sequence[Table]) -> None:
    """Draw recall and the number of distances computed over m."""
    axes = figure.subplots()
    rows = tables[0].rows
    depths = [_number(row["m"]) for row in rows]
    axes.plot(depths, [_number(row["recall"]) for row in rows], marker="o", label="recall of the true ten")
    axes.set(xlabel="m, candidates by centroid", ylabel="recall", xscale="log", ylim=(0, 1.02))
    right = axes.twinx()
    right.plot(depths, [_number(row["solved"]) for row in rows], marker="s", color="C1", label="distances computed")
    right.set(ylabel="distances computed")
    axes.legend(loc="upper left", fontsize="small")
    right.legend(loc="lower right", fontsize="small")


def _number(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


_DRAWERS = {"retrieval": _recall, "knn": _errors, "bounds": _bounds, "prefetch and prune": _depths}
