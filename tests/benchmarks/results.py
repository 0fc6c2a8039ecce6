"""Writes results.md: one table for each table of the papers, measured on the real data, beside the paper's figures.

Each finished table is stored as JSON in the work directory, as are the collections with all distances: an interrupted
run is resumed, and `--table NAME` measures one table again. Two data sets are measured at a time, because one alone
leaves cores idle.
"""

import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr
from io import StringIO
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path
from statistics import mean
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank.indexer.formatters.progress import Bars
from moverank.indexer.plugins.laboratory.tables import table_object
from tests.benchmarks.common import ROOT, argument_parser, real, show
from tests.benchmarks.experiments import EXPERIMENTS, Experiment

READING = ROOT / "tests" / "benchmarks" / "reading.md"
RESULTS = ROOT / "tests" / "benchmarks" / "results.md"
RUNS = "runs.json"
PROCESSES = 2
"""Data sets that are measured at a time."""


def measure(experiment: Experiment, work: Path) -> None:
    """Run an experiment and store its table in the directory `work`."""
    began = time.perf_counter()
    with Bars() as bars:
        table = table_object(experiment.run(work, bars))
    seconds = time.perf_counter() - began
    (work / f"{experiment.name}.json").write_text(json.dumps(table | {"seconds": seconds}))
    show(f"{experiment.name}: {seconds:.0f} s")


def measure_all(experiments: list[Experiment], work: Path) -> None:
    """Run experiments, those of one data set one after the other, and store the seconds of all of them together."""
    by_data: dict[str, list[str]] = {}
    for experiment in experiments:
        by_data.setdefault(experiment.data, []).append(experiment.name)
    began = time.perf_counter()
    try:
        if len(by_data) < 2:
            _measure_names([experiment.name for experiment in experiments], work)
        else:
            _measure_in_processes([by_data[data] for data in _largest_first(by_data)], work)
    finally:
        (work / RUNS).write_text(json.dumps([*_runs(work), time.perf_counter() - began]))


def _measure_in_processes(groups: list[list[str]], work: Path) -> None:
    """Run groups of experiments by their names, each group in one of two processes, without progress bars."""
    context = get_context("spawn")
    shares: Queue[set[int]] = context.Queue()
    cores = sorted(os.sched_getaffinity(0))
    count = min(PROCESSES, len(cores))
    for i in range(count):
        shares.put(set(cores[i::count]))
    with ProcessPoolExecutor(count, context, _take_share, (shares,)) as processes:
        for future in [processes.submit(_measure_silently, names, work) for names in groups]:
            future.result()


def _take_share(shares: "Queue[set[int]]") -> None:
    """Limit this process to some of the cores, so that the two processes do not compete for the same ones."""
    os.sched_setaffinity(0, shares.get())


def _measure_silently(names: list[str], work: Path) -> None:
    with redirect_stderr(StringIO()):  # not a terminal, so no progress bars
        _measure_names(names, work)


def _measure_names(names: list[str], work: Path) -> None:
    for experiment in EXPERIMENTS:
        if experiment.name in names:
            measure(experiment, work)


def _largest_first(names: Iterable[str]) -> list[str]:
    """Return data sets in descending order of their bytes, so that the longest does not start last."""
    return sorted(names, key=lambda name: -sum(file.stat().st_size for file in real("data", name).iterdir()))


def _runs(work: Path) -> list[float]:
    """Return the seconds of every run so far: the work directory may hold the results of several."""
    file = work / RUNS
    return json.loads(file.read_text()) if file.exists() else []


def report(work: Path) -> str:
    """Return the report of all tables in the work directory."""
    lines = [
        "# Results",
        "",
        "Written by `tests/benchmarks/results.py`; numbers of other machines differ in the seconds only.",
        "",
    ]
    if READING.exists():
        lines += [READING.read_text(encoding="utf-8").strip(), ""]
    files = {experiment.name: work / f"{experiment.name}.json" for experiment in EXPERIMENTS}
    tables = {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}
    for experiment in EXPERIMENTS:
        if experiment.name in tables:
            lines += [*_section(experiment, tables[experiment.name]), ""]
    lines += _averages([table for name, table in tables.items() if name.startswith("knn-")])
    missing = [name for name in files if name not in tables]
    if missing:
        lines += [f"Not measured yet: {', '.join(missing)}.", ""]
    minutes = sum(_runs(work)) / 60
    return "\n".join([*lines, f"All of these tables, two data sets at a time: {minutes:.0f} minutes.", ""])


def _averages(tables: list[dict[str, Any]]) -> list[str]:
    """Return the table of mean kNN errors over the data sets, and of their ratios to those of the first method."""
    if not tables:
        return []
    errors = {row["method"]: [_error(table, row["method"]) for table in tables] for row in tables[0]["rows"]}
    base = next(iter(errors))
    lines = [
        "## kNN classification, all data sets",
        "",
        f"| method | mean error | of {base}'s | paper |",
        "|---|---|---|---|",
    ]
    for method, values in errors.items():
        ratio = mean(error / other for error, other in zip(values, errors[base], strict=True))
        lines.append(f"| `{method}` | {mean(values):.3f} | {ratio:.2f} | {'.42' if method == 'wmd' else ''} |")
    source = "Paper: Kusner et al. 2015, figure 4, eight data sets."
    return [*lines, "", f"data sets {len(tables)}; the share is averaged over them. {source}", ""]


def _error(table: dict[str, Any], method: str) -> float:
    return next(float(row["error"]) for row in table["rows"] if row["method"] == method)


def _section(experiment: Experiment, table: Mapping[str, Any]) -> list[str]:
    rows = table["rows"]
    columns = [column for column in experiment.columns if any(column in row for row in rows)]
    paper = ["paper"] if experiment.paper else []
    head = [next(iter(rows[0])), *columns, *paper]
    lines = [f"## {experiment.title}", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        name = str(next(iter(row.values())))
        cells = [_shown(row.get(column)) for column in columns]
        cells += [experiment.paper.get(name, "")] if paper else []
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    empty = " | " * (len(head) - 2)
    lines += [f"| {name} | {figure}{empty} |" for name, figure in experiment.elsewhere.items()]
    facts = {k: v for k, v in table.items() if k not in ("table", "rows", "notes", "seconds", "clean", "reference")}
    caption = ", ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in facts.items())
    source = f" Paper: {experiment.source}." if experiment.paper else ""
    return [*lines, "", f"{caption}; {table['seconds']:.0f} s.{source}"]


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, dict):
        return ", ".join(f"`{name}` {count}" for name, count in value.items())
    return "" if value is None else str(value)


def main() -> None:
    """Run the experiments without a table, or those named, and write the report."""
    names = [experiment.name for experiment in EXPERIMENTS]
    parser = argument_parser(__doc__)
    parser.add_argument("--table", action="append", choices=names, help="measure this table again; may be repeated")
    parser.add_argument(
        "--work", type=Path, default=ROOT / "build" / "results", help="directory of collections and tables"
    )
    parser.add_argument("--write", action="store_true", help="only write the report of the tables measured so far")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    if not arguments.write:
        done = {name for name in names if (arguments.work / f"{name}.json").exists()}
        selected = arguments.table or set(names) - done
        measure_all([experiment for experiment in EXPERIMENTS if experiment.name in selected], arguments.work)
    RESULTS.write_text(report(arguments.work), encoding="utf-8")


if __name__ == "__main__":
    main()
