"""`evaluate retrieval`: how well each method ranks the documents judged relevant.

Besides the table, it writes TREC runs, and the measures of each query.
"""

import csv
import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.files.atomic_write import check_writable, write_text
from moverank.indexer.plugins.laboratory.corpus import missing_notes
from moverank.indexer.plugins.laboratory.duplicates import Duplicates, find_duplicates
from moverank.indexer.plugins.laboratory.method import RANDOM, Figure, Method, Table, reference_row
from moverank.indexer.plugins.laboratory.trial import Trial, best_with_values, placing_relevant, run_of
from moverank.rerank.evaluation.knn import best_setting, cross_validated_settings, folds
from moverank.rerank.evaluation.measures import Judgments, evaluate_measures, join_run, p_values, run_lines
from moverank.rerank.evaluation.tightness import hubness

Run = Mapping[str, tuple[Sequence[str], NDArray[np.float64]]]
"""The keys (n,) of the documents ranked for each query, best first, and their scores (n,), decreasing."""

_SHELL = re.compile(r"[^A-Za-z0-9.+=,_-]")
_LONGEST = 120
"""The most characters of a method in a file's name; a longer name is cut, and ends with a digest."""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files to write: `run`, the rankings, and `per_query`, the measures; None for none.

    The rankings of several methods are files beside `run`, whose names have the method before the suffix.
    """

    run: Path | None = None
    per_query: Path | None = None

    def check(self) -> None:
        """Raise UsageError, before any work, for a file that cannot be written."""
        for path in (self.run, self.per_query):
            if path is not None:
                check_writable(path)

    def write_runs(self, runs: Mapping[str, Run]) -> None:
        """Write the runs of methods, by label, a file for each: see `run_lines`."""
        if self.run is None:
            return
        for label, run in runs.items():
            path = self.run if len(runs) == 1 else run_path(self.run, label)
            lines = [line for query, (keys, scores) in run.items() for line in run_lines(query, keys, label, scores)]
            write_text(path, "".join(f"{line}\n" for line in lines))

    def write_measures(self, queries: Sequence[str], figures: Mapping[str, Mapping[str, NDArray[np.float64]]]) -> None:
        """Write the `figures` (q,) of each method and measure for `queries`, one row for each method and query."""
        if self.per_query is None:
            return
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        names = list(next(iter(figures.values()), {}))
        writer.writerow(["method", "query", *names])
        for label, values in figures.items():
            for i, query in enumerate(queries):
                writer.writerow([label, query, *(float(values[name][i]) for name in names)])
        write_text(self.per_query, buffer.getvalue())


def run_path(path: Path, label: str) -> Path:
    """Return `path` with the name of a method before its suffix, in characters that no shell changes.

    `run.trec` is `run.bm25-stem=english.trec` for `bm25:stem=english`: other characters become a hyphen, and `*` an x.
    """
    name = _SHELL.sub("-", label.replace("*", "x"))
    if len(name) > _LONGEST:
        name = f"{name[:_LONGEST]}-{hashlib.blake2b(label.encode(), digest_size=4).hexdigest()}"
    return path.with_name(f"{path.stem}.{name}{path.suffix}")


TRIALS = 200
"""Number of random rankings over which the figures of `random` are means (Trapp et al. 2017, section 5.1)."""
ENGINE, CHOSEN = "engine", "chosen"


@dataclass(frozen=True, slots=True, eq=False)
class RetrievalTask:
    """The judgments and measures of an experiment; UsageError for both `folds` and `train`."""

    judgments: Judgments
    measures: Sequence[str]
    """The names of the measures."""
    clean: bool = False
    """Leave out duplicates."""
    reference: str | None = None
    """The label of the method that the others are tested against; None: BM25 if it is a row, with stems rather than
    without, else the first row."""
    folds: int | None = None
    """Add the row `chosen`: for each query the method that is best on the queries of the other folds; 0: as many folds
    as queries."""
    train: Judgments | None = None
    """Judgments of other queries of the trial: add the row `chosen` with the method that is best on these."""
    cutoff: int | None = None
    """The length of rankings; None: all documents."""

    def __post_init__(self) -> None:
        if self.train is not None and self.folds is not None:
            raise UsageError("the best method is chosen on other queries or on folds of the same: leave one out")


FiguresByMethod = dict[str, dict[str, NDArray[np.float64]]]
"""The figures (q,) of queries, by method and measure."""


def retrieval_table(
    methods: Sequence[Method], trial: Trial, task: RetrievalTask, files: RunFiles = RunFiles()
) -> Table:
    """Rank all documents, or each query's candidates, by every method, and measure the rankings.

    `methods` are the rows, `trial` the documents and queries, `task` the measures, and `files` the files to write. The
    column p is the p value of Fisher's randomisation test of the first measure against the reference, adjusted by
    Holm's method. Raises UsageError if the reference is not a row.
    """
    labels = [ENGINE] * (trial.candidates is not None) + [method.label for method in methods]
    reference = reference_row(task.reference, methods, labels)
    duplicates = find_duplicates(trial.pool)
    if task.clean:
        trial, task = _without_duplicates(trial, task, duplicates)
    if files.run is None:
        trial = placing_relevant(trial, task.judgments, *([task.train] if task.train else []))
    figures, hubs, chosen, runs = _measure(methods, trial, task)
    files.write_runs(runs)
    files.write_measures(task.judgments.queries, figures)
    p = p_values({label: values[task.measures[0]] for label, values in figures.items()}, reference)
    rows: list[dict[str, Figure]] = []
    for label, values in figures.items():
        means = {name: float(of_queries.mean()) for name, of_queries in values.items()}
        rows.append({"method": label, **means, "p": p.get(label), "hubness": hubs.get(label)})
    facts: dict[str, Any] = {
        "documents": len(trial.pool),
        "queries": len(task.judgments.queries),
        "reference": reference,
        **duplicates.facts(),
        "clean": task.clean,
    }
    if chosen:
        facts["chosen"] = chosen
    return Table("retrieval", tuple(rows), facts, _notes(trial, task, duplicates), higher=tuple(task.measures))


def _measure(
    methods: Sequence[Method], trial: Trial, task: RetrievalTask
) -> tuple[FiguresByMethod, dict[str, float], dict[str, int], dict[str, Run]]:
    """Return the figures of all rows, and each method's hubness, number of queries that chose it, and run."""
    tasks = [task] if task.train is None else [task, replace(task, judgments=task.train)]
    (figures, *trained), hubs, runs = _rank(methods, trial, tasks)
    measure, count = task.measures[0], len(task.judgments.queries)
    if task.folds is not None:
        choice = cross_validated_settings(_settings(figures, measure), folds(count, task.folds))
    elif trained:
        choice = np.full(count, best_setting(_settings(trained[0], measure)))
    else:
        return figures, hubs, {}, runs
    return figures, hubs, _add_chosen(figures, choice), runs


def _rank(
    methods: Sequence[Method], trial: Trial, tasks: Sequence[RetrievalTask]
) -> tuple[list[FiguresByMethod], dict[str, float], dict[str, Run]]:
    """Rank by every method once; measure the rankings, and the given order of candidates, by each task's judgments.

    Also returns the methods' hubness among the queries of the first task, unless only candidates are ranked, and their
    runs for these queries, if all positions are exact.
    """
    figures, hubs, runs = [FiguresByMethod() for _ in tasks], dict[str, float](), dict[str, Run]()
    candidates, row_of = trial.candidates, trial.queries.row_of
    if candidates is not None:
        for task, of_task in zip(tasks, figures, strict=True):
            of_task[ENGINE] = evaluate_measures(join_run(task.judgments, candidates).values(), task.measures)
    judged = [query for query in tasks[0].judgments.queries if query in row_of]
    for method in methods:
        longest = len(trial.pool) if candidates is not None or method.is_random else tasks[0].cutoff or len(trial.pool)
        found = list(best_with_values(method, trial, longest))
        best = [rows for rows, _ in found]
        if candidates is None:  # hubness is undefined for candidates that differ between queries
            hubs[method.label] = hubness([best[row_of[query]] for query in judged], len(trial.pool))
        run = run_of(best, trial)
        for task, of_task in zip(tasks, figures, strict=True):
            of_task[method.label] = _figures(method, run, task)
        if trial.placed is None:  # all positions are exact, as the runs need
            runs[method.label] = {query: (run[query], _scores(*found[row_of[query]], run[query])) for query in judged}
    return figures, hubs, runs


def _scores(rows: NDArray[np.int64], values: NDArray[np.float64], ranked: Sequence[str]) -> NDArray[np.float64]:
    """Return scores (n,) of `ranked` keys (n,): negated values, and the last one's for keys without a value."""
    last = values[-1] if len(values) else 0.0
    return -np.append(values, np.full(len(ranked) - len(rows), last))


def _settings(figures: FiguresByMethod, measure: str) -> NDArray[np.float64]:
    """Return the figures (s, q) of all methods among which to choose."""
    return np.array([values[measure] for label, values in figures.items() if label != RANDOM])


def _add_chosen(figures: FiguresByMethod, choice: NDArray[np.int64]) -> dict[str, int]:
    """Add the row of the method chosen (q,) for each query; return for how many queries each was chosen."""
    labels = [label for label in figures if label != RANDOM]
    queries = np.arange(len(choice))
    figures[CHOSEN] = {name: _settings(figures, name)[choice, queries] for name in figures[labels[0]]}
    counts = np.bincount(choice, minlength=len(labels)).tolist()
    return {label: count for label, count in zip(labels, counts, strict=True) if count}


def _figures(method: Method, run: Mapping[str, Sequence[str]], task: RetrievalTask) -> dict[str, NDArray[np.float64]]:
    """Measure the rankings of one method; for `random`, the mean of many shuffled rankings."""
    rankings = join_run(task.judgments, run).values()
    if not method.is_random:
        return evaluate_measures(rankings, task.measures)
    generator = np.random.default_rng(0)
    shuffled = [
        evaluate_measures(
            [replace(each, grades=generator.permutation(each.grades)[: task.cutoff]) for each in rankings],
            task.measures,
        )
        for _ in range(TRIALS)
    ]
    return {name: np.mean([each[name] for each in shuffled], axis=0) for name in task.measures}


def _without_duplicates(trial: Trial, task: RetrievalTask, duplicates: Duplicates) -> tuple[Trial, RetrievalTask]:
    """Leave out every document that repeats an earlier one."""
    rows = duplicates.unique_rows
    new_row = np.full(len(trial.pool), -1, np.int64)
    new_row[rows] = np.arange(len(rows))
    own_rows = np.where(trial.own_rows >= 0, new_row[trial.own_rows], -1)
    removed = {key for key, row in zip(trial.pool.keys, new_row.tolist(), strict=True) if row < 0}
    candidates = trial.candidates and {
        query: [key for key in keys if key not in removed] for query, keys in trial.candidates.items()
    }
    judgments, train = task.judgments.without(removed), task.train and task.train.without(removed)
    left = replace(trial, pool=trial.pool.take(rows), own_rows=own_rows, candidates=candidates)
    return left, replace(task, judgments=judgments, train=train)


def _notes(trial: Trial, task: RetrievalTask, duplicates: Duplicates) -> tuple[str, ...]:
    """Return notes on data that bias the figures."""
    notes = [*duplicates.notes(clean=task.clean), *missing_notes(task.judgments, trial)]
    indexed, grades = trial.pool.row_of, task.judgments.grades
    same_key = [
        query
        for query, own_row in zip(trial.queries.keys, trial.own_rows.tolist(), strict=True)
        if own_row < 0 and query in indexed and query in grades
    ]
    if same_key:
        notes.append(
            f"{len(same_key)} queries have the key of a document, {same_key[0]!r} first: if they are that document, "
            "--without-self leaves it out of its own results"
        )
    return tuple(notes)
