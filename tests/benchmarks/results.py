"""Writes results.md: a table for each table of the papers, measured on the real data, the paper's figures beside ours.

Each finished table is kept as JSON in the work directory, and so are the collections with all distances: a run that was
stopped goes on where it was, and `--table NAME` measures one again. Two data sets are at work at a time, for one alone
leaves cores idle.
"""

import argparse
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

from moverank.indexer.formatters.progress_bars import Bars
from moverank.indexer.formatters.table_views import table_object
from tests.benchmarks.common import ROOT, real, show
from tests.benchmarks.experiments import EXPERIMENTS, Experiment

READING = ROOT / "tests" / "benchmarks" / "reading.md"
RESULTS = ROOT / "tests" / "benchmarks" / "results.md"
RUNS = "runs.json"
AT_A_TIME = 2


def measure(experiment: Experiment, work: Path) -> None:
    """Run an experiment and keep its table."""
    began = time.perf_counter()
    with Bars() as bars:
        table = table_object(experiment.run(work, bars))
    seconds = time.perf_counter() - began
    (work / f"{experiment.name}.json").write_text(json.dumps(table | {"seconds": seconds}))
    show(f"{experiment.name}: {seconds:.0f} s")


def measure_all(wanted: list[Experiment], work: Path) -> None:
    """Measure several, those of one data set one after the other, and note how long all of them took."""
    by_data: dict[str, list[str]] = {}
    for experiment in wanted:
        by_data.setdefault(experiment.data, []).append(experiment.name)
    began = time.perf_counter()
    try:
        if len(by_data) < 2:
            _measure_names([experiment.name for experiment in wanted], work)
        else:
            _measure_at_a_time([by_data[data] for data in _largest_first(by_data)], work)
    finally:
        (work / RUNS).write_text(json.dumps([*_runs(work), time.perf_counter() - began]))


def _measure_at_a_time(turns: list[list[str]], work: Path) -> None:
    """Measure experiments by their names, each list of them in one of two processes, without bars."""
    context = get_context("spawn")
    shares: Queue[set[int]] = context.Queue()
    cores = sorted(os.sched_getaffinity(0))
    count = min(AT_A_TIME, len(cores))
    for i in range(count):
        shares.put(set(cores[i::count]))
    with ProcessPoolExecutor(count, context, _take_share, (shares,)) as processes:
        for turn in [processes.submit(_measure_silently, names, work) for names in turns]:
            turn.result()


def _take_share(shares: "Queue[set[int]]") -> None:
    """Keep this process to some of the cores: threads that wait for each other's cores lose time."""
    os.sched_setaffinity(0, shares.get())


def _measure_silently(names: list[str], work: Path) -> None:
    with redirect_stderr(StringIO()):  # no terminal, no bars
        _measure_names(names, work)


def _measure_names(names: list[str], work: Path) -> None:
    for experiment in EXPERIMENTS:
        if experiment.name in names:
            measure(experiment, work)


def _largest_first(names: Iterable[str]) -> list[str]:
    """Order data sets by their bytes, so that the longest work does not begin last."""
    return sorted(names, key=lambda name: -sum(file.stat().st_size for file in real("data", name).iterdir()))


def _runs(work: Path) -> list[float]:
    """Return the seconds of every run so far."""
    file = work / RUNS
    return json.loads(file.read_text()) if file.exists() else []


def report(work: Path) -> str:
    """Write all tables that were measured."""
    told = [
        "# Results",
        "",
        "Written by `tests/benchmarks/results.py`; numbers of other machines differ in the seconds only.",
        "",
    ]
    if READING.exists():
        told += [READING.read_text(encoding="utf-8").strip(), ""]
    files = {experiment.name: work / f"{experiment.name}.json" for experiment in EXPERIMENTS}
    tables = {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}
    for experiment in EXPERIMENTS:
        if experiment.name in tables:
            told += [*_section(experiment, tables[experiment.name]), ""]
    told += _averages([table for name, table in tables.items() if name.startswith("knn-")])
    missing = [name for name in files if name not in tables]
    if missing:
        told += [f"Not measured yet: {', '.join(missing)}.", ""]
    minutes = sum(_runs(work)) / 60
    return "\n".join([*told, f"All of these tables, two data sets at a time: {minutes:.0f} minutes.", ""])


def _averages(tables: list[dict[str, Any]]) -> list[str]:
    """Average the errors of classification over the data sets, and relative to the first method."""
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
    for method, own in errors.items():
        share = mean(error / other for error, other in zip(own, errors[base], strict=True))
        lines.append(f"| `{method}` | {mean(own):.3f} | {share:.2f} | {'.42' if method == 'wmd' else ''} |")
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
    counted = ", ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in facts.items())
    source = f" Paper: {experiment.source}." if experiment.paper else ""
    return [*lines, "", f"{counted}; {table['seconds']:.0f} s.{source}"]


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, dict):
        return ", ".join(f"`{name}` {count}" for name, count in value.items())
    return "" if value is None else str(value)


def main() -> None:
    """Measure what is missing, or what was named, and write the report."""
    names = [experiment.name for experiment in EXPERIMENTS]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="append", choices=names, help="measure this one again; repeat for more")
    parser.add_argument(
        "--work", type=Path, default=ROOT / "build" / "results", help="where collections and tables are kept"
    )
    parser.add_argument("--write", action="store_true", help="only write the report of what was measured")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    if not given.write:
        done = {name for name in names if (given.work / f"{name}.json").exists()}
        wanted = given.table or set(names) - done
        measure_all([experiment for experiment in EXPERIMENTS if experiment.name in wanted], given.work)
    RESULTS.write_text(report(given.work), encoding="utf-8")


if __name__ == "__main__":
    main()
