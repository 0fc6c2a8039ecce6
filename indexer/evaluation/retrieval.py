"""`evaluate retrieval`: how well each method finds what was judged to be relevant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.evaluation.method import RANDOM, Method, Trial, distances_of
from moverank.indexer.evaluation.near_duplicates import Duplicates, find_duplicates
from moverank.indexer.evaluation.result_table import Table, Value
from moverank.rerank.evaluation.hubness import hubness
from moverank.rerank.evaluation.judgments import Judged, Judgments, in_order, judged
from moverank.rerank.evaluation.measures import measured
from moverank.rerank.evaluation.selection import best_setting, chosen_settings, folds
from moverank.rerank.evaluation.significance import holm, randomisation

TRIALS = 200
"""How often chance is tried (Trapp et al. 2017, section 5.1)."""
ENGINE, CHOSEN = "engine", "chosen"


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What is measured: judgments, the measures wanted, and each query's candidates, None where all documents are.

    `clean` leaves out documents that are there twice; `reference` is the label of the method that others are tested
    against, the first one where it is None. With `folds`, a row more tells how the best method on the other folds of
    queries does, 0 standing for as many folds as queries; with `train`, the best by judgments of other queries, which
    are among the trial's questions.
    """

    judgments: Judgments
    measures: Sequence[str]
    candidates: Mapping[str, Sequence[str]] | None = None
    clean: bool = False
    reference: str | None = None
    folds: int | None = None
    train: Judgments | None = None

    def __post_init__(self) -> None:
        if self.train is not None and self.folds is not None:
            raise UsageError("the best method is chosen on other queries or on folds of the same: leave one out")


Figures = dict[str, dict[str, NDArray[np.float64]]]
"""What each method reached for each query, by method and measure."""


def retrieval(methods: Sequence[Method], trial: Trial, task: Task) -> Table:
    """Rank all documents, or each query's candidates, by every method, and measure the rankings.

    p is that of Fisher's randomisation test of the first measure against the reference, by Holm's rule for several.
    """
    labels = [ENGINE] * (task.candidates is not None) + [method.label for method in methods]
    if task.reference is not None and task.reference not in labels:
        raise UsageError(f"the reference {task.reference!r} is none of the methods: {', '.join(labels)}")
    twice = find_duplicates(trial.pool)
    if task.clean:
        trial, task = _cleaned(trial, task, twice)
    tasks = [task] if task.train is None else [task, replace(task, judgments=task.train)]
    (figures, *trained), hubs = _measured(methods, trial, tasks)
    first, chosen = task.measures[0], {}
    if task.folds is not None:
        dealt = folds(len(task.judgments.queries), task.folds)
        chosen = _choose(figures, chosen_settings(_settings(figures, first), dealt))
    elif trained:
        best = best_setting(_settings(trained[0], first))
        chosen = _choose(figures, np.full(len(task.judgments.queries), best))
    values = {label: each[first] for label, each in figures.items()}
    p = tested(values, task.reference or next(iter(values)))
    rows: list[dict[str, Value]] = []
    for label, each in figures.items():
        means = {name: float(found.mean()) for name, found in each.items()}
        rows.append({"method": label, **means, "p": p.get(label), "hubness": hubs.get(label)})
    facts: dict[str, Any] = {
        "documents": len(trial.pool),
        "queries": len(task.judgments.queries),
        "reference": task.reference or next(iter(values)),
        **twice.facts(),
        "clean": task.clean,
    }
    if chosen:
        facts["chosen"] = chosen
    return Table("retrieval", tuple(rows), facts, _notes(trial, task, twice), higher=tuple(task.measures))


def _measured(methods: Sequence[Method], trial: Trial, tasks: Sequence[Task]) -> tuple[list[Figures], dict[str, float]]:
    """Rank by every method once, and measure it by the judgments of each task, and the order of candidates, too.

    Returns the hubness of the methods, too, among the questions of the first task.
    """
    found, hubs = [Figures() for _ in tasks], dict[str, float]()
    task = tasks[0]
    if task.candidates is not None:
        trial = replace(trial, wanted=_wanted(trial, task.candidates))
        for each, figures in zip(tasks, found, strict=True):
            figures[ENGINE] = measured(judged(each.judgments, task.candidates).values(), task.measures)
    own = [trial.questions.place[query] for query in task.judgments.queries if query in trial.questions.place]
    for method in methods:
        distances = distances_of(method, trial)
        if task.candidates is None:  # among candidates only, nobody can be everybody's neighbour
            hubs[method.label] = hubness(distances[own])
        for each, figures in zip(tasks, found, strict=True):
            figures[method.label] = _figures(method, distances, trial, each)
    return found, hubs


def _settings(figures: Figures, measure: str) -> NDArray[np.float64]:
    """Return what the methods (s, q) that may be chosen reached."""
    return np.array([each[measure] for label, each in figures.items() if label != RANDOM])


def _choose(figures: Figures, choice: NDArray[np.int64]) -> dict[str, int]:
    """Add the row of the method chosen (q,) for each query; return which was chosen for how many."""
    labels = [label for label in figures if label != RANDOM]
    places = np.arange(len(choice))
    figures[CHOSEN] = {name: _settings(figures, name)[choice, places] for name in figures[labels[0]]}
    counts = np.bincount(choice, minlength=len(labels)).tolist()
    return {label: count for label, count in zip(labels, counts, strict=True) if count}


def _figures(
    method: Method, distances: NDArray[np.float64], trial: Trial, task: Task
) -> dict[str, NDArray[np.float64]]:
    """Measure one method's rankings; chance is tried many times."""
    if method.name != RANDOM:
        return measured(_judged(distances, trial, task).values(), task.measures)
    chance, ranked = np.random.default_rng(0), _judged(distances, trial, task).values()
    tries = [
        measured([replace(each, grades=chance.permutation(each.grades)) for each in ranked], task.measures)
        for _ in range(TRIALS)
    ]
    return {name: np.mean([each[name] for each in tries], axis=0) for name in task.measures}


def _judged(distances: NDArray[np.float64], trial: Trial, task: Task) -> dict[str, Judged]:
    """Rank and judge; a candidate that cannot be ranked stands last, in the order given."""
    run: dict[str, Sequence[str]] = {}
    keys = trial.pool.keys
    for query in task.judgments.queries:
        row = trial.questions.place.get(query)
        if row is None:
            continue
        if task.candidates is None:
            run[query] = [keys[place] for place in in_order(keys, distances[row], ascending=True)]
            continue
        given = task.candidates.get(query, ())
        there = [key for key in given if key in trial.pool.place]
        places = np.array([trial.pool.place[key] for key in there], np.int64)
        ranked = [there[i] for i in in_order(there, distances[row][places], ascending=True)]
        run[query] = [*ranked, *(key for key in given if key not in set(ranked))]
    return judged(task.judgments, run)


def tested(values: Mapping[str, NDArray[np.float64]], reference: str) -> dict[str, float]:
    """Return the p value of every method but the reference."""
    others = [label for label in values if label != reference]
    found = holm([randomisation(values[label], values[reference]) for label in others])
    return dict(zip(others, found, strict=True))


def _wanted(trial: Trial, candidates: Mapping[str, Sequence[str]]) -> NDArray[np.bool_]:
    """Return which documents (q, n) are a candidate of which question."""
    wanted = np.zeros((len(trial.questions), len(trial.pool)), bool)
    for row, query in enumerate(trial.questions.keys):
        wanted[row, [trial.pool.place[key] for key in candidates.get(query, ()) if key in trial.pool.place]] = True
    return wanted


def _cleaned(trial: Trial, task: Task, twice: Duplicates) -> tuple[Trial, Task]:
    """Leave out every document but the first of those that are alike."""
    kept = twice.kept
    place = np.full(len(trial.pool), -1, np.int64)
    place[kept] = np.arange(len(kept))
    own = np.where(trial.own >= 0, place[trial.own], -1)
    gone = {trial.pool.keys[row] for row in range(len(trial.pool)) if place[row] < 0}
    candidates = task.candidates and {q: [k for k in keys if k not in gone] for q, keys in task.candidates.items()}
    judgments, train = task.judgments.without(gone), task.train and task.train.without(gone)
    return replace(trial, pool=trial.pool.take(kept), own=own), replace(
        task, judgments=judgments, candidates=candidates, train=train
    )


def _notes(trial: Trial, task: Task, twice: Duplicates) -> tuple[str, ...]:
    """Say what makes figures lower or higher than they seem."""
    told = twice.notes(clean=task.clean)
    silent = [query for query in task.judgments.queries if query not in trial.questions.place]
    if silent:
        told.append(f"{len(silent)} judged queries are not among the queries and count as 0, {silent[0]!r} first")
    known = trial.pool.place
    lost = {
        key for grades in task.judgments.grades.values() for key, grade in grades.items() if grade > 0
    } - known.keys()
    if lost:
        told.append(
            f"{len(lost)} relevant documents are not in the collection and are never found, {min(lost)!r} first"
        )
    alike = [
        query
        for query, own in zip(trial.questions.keys, trial.own.tolist(), strict=True)
        if own < 0 and query in known and query in task.judgments.grades
    ]
    if alike:
        told.append(
            f"{len(alike)} queries have the key of a document, {alike[0]!r} first: if they are that document, "
            "--without-self leaves it out of its own results"
        )
    return tuple(told)
