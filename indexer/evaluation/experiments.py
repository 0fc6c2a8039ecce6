"""The experiments as the command line asks for them: files and options in, tables out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from moverank.indexer.collection import Collection
from moverank.indexer.errors import UsageError
from moverank.indexer.evaluation.bound_tightness import bounds_table, compare, depth_table
from moverank.indexer.evaluation.classification import Bench, Classified, classification
from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.method import RANDOM, Method, Trial, parse_method
from moverank.indexer.evaluation.multilabel import multilabel
from moverank.indexer.evaluation.near_duplicates import find_duplicates
from moverank.indexer.evaluation.result_table import Table
from moverank.indexer.evaluation.retrieval import Task, retrieval
from moverank.indexer.progress import Progress, silent
from moverank.indexer.readers.judgments import read_candidates, read_labels, read_qrels
from moverank.indexer.readers.queries import read_queries
from moverank.rerank.evaluation.judgments import Judgments
from moverank.rerank.evaluation.measures import USUAL, measure
from moverank.rerank.evaluation.splits import TIMES, predefined, random_splits

KEPT = "evaluation"
"""The directory in a collection that keeps what took long."""

GRID = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
DEPTHS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)

_PLAIN = (RANDOM, "bow", "tfidf", "bm25", "wcd", "rwmd", "wmd", "wmd:weights=tfidf")
_RANKED = ("pwmd", "pwmd:weights=tfidf")


def evaluate_retrieval(
    index: Path,
    qrels: str,
    *,
    queries: str | None = None,
    candidates: str | None = None,
    methods: Sequence[str] = (),
    measures: Sequence[str] = (),
    reference: str | None = None,
    without_self: bool = False,
    clean: bool = False,
    proximity: str | None = None,
    folds: int | None = None,
    train: str | None = None,
    progress: Progress = silent,
) -> Table:
    """Measure methods by judged queries: texts from a file, or without one the documents that the judgments name.

    `without_self`: a query's id is also its own document's key, which is left out. Documents as queries always leave
    themselves out. `folds`: see `Task`. `train`: judgments of other queries, by which the row `chosen` is chosen.
    Raises ReadError, UsageError, EvaluationError.
    """
    judgments = Judgments(read_qrels(qrels))
    others = Judgments(read_qrels(train)) if train is not None else None
    for name in measures:
        measure(name)
    given = read_candidates(candidates) if candidates is not None else None
    asked = read_queries(queries) if queries is not None else ()
    wanted = dict.fromkeys([*judgments.queries, *(others.queries if others else ())])
    with Collection.open(index) as collection:
        rows = chosen_methods(methods, collection, proximity)
        corpus = collection.corpus([(id_, text) for id_, text in asked if id_ in wanted])
    pool, questions = corpus.documents, corpus.questions
    if queries is None:
        questions = pool.take([pool.place[query] for query in wanted if query in pool.place])
    own = np.array([pool.place.get(query, -1) for query in questions.keys], np.int64)
    if not without_self and queries is not None:
        own[:] = -1
    trial = Trial(pool, questions, own, DistanceCache(index / KEPT), progress)
    return retrieval(rows, trial, Task(judgments, tuple(measures) or USUAL, given, clean, reference, folds, others))


def evaluate_knn(
    index: Path,
    *,
    methods: Sequence[str] = (),
    split: Literal["predefined", "random"] | None = None,
    times: int = TIMES,
    seed: int = 0,
    k: int | None = None,
    clean: bool = False,
    proximity: str | None = None,
    progress: Progress = silent,
) -> Table:
    """Measure methods by kNN classification of the documents that have a label.

    `split`: the one that documents name in their field `split`, or 70/30 drawn so many `times`; by default the first
    where there is one. Raises UsageError, EvaluationError.
    """
    with Collection.open(index) as collection:
        rows = chosen_methods(methods, collection, proximity)
        corpus = collection.corpus()
    texts = corpus.documents
    used = [row for row, label in enumerate(texts.labels) if label is not None]
    if split is None:
        split = "predefined" if corpus.splits else "random"
    if split == "predefined":
        if not corpus.splits:
            raise UsageError("no document has a field `split` with train or test: leave --split out, or say random")
        used = [row for row in used if texts.keys[row] in corpus.splits]
    texts = texts.take(used)
    if clean and len(texts):
        texts = texts.take(find_duplicates(texts).kept)
    drawn = [predefined([corpus.splits[key] for key in texts.keys])] if split == "predefined" else None
    data = Classified.of(texts, drawn or random_splits(len(texts), times=times, seed=seed))
    return classification(rows, data, Bench(DistanceCache(index / KEPT), progress), k)


def chosen_methods(typed: Sequence[str], collection: Collection, proximity: str | None) -> list[Method]:
    """Read the rows that were asked for, or the usual ones; with `proximity`, each a second time with it."""
    gamma = collection.settings.gamma
    names = list(dict.fromkeys(typed)) or [*_PLAIN, *(_RANKED if gamma else ())]
    rows = []
    for name in names:
        method = parse_method(name, gamma)
        rows.append(method)
        if proximity and method.name != RANDOM and not method.parts and method.proximity is None:
            rows.append(parse_method(f"{name}{',' if ':' in name else ':'}proximity={proximity}", gamma))
    return rows


def evaluate_multilabel(
    index: Path,
    labels: str,
    *,
    methods: Sequence[str] = (),
    ks: Sequence[int] = (2, 5),
    proximity: str | None = None,
    progress: Progress = silent,
) -> Table:
    """Measure methods by the labels of documents that a file tells, leaving one out; the first row is the baseline.

    Raises ReadError, UsageError.
    """
    known = read_labels(labels)
    if not ks or min(ks) < 1:
        raise UsageError("k must be whole numbers of 1 or more")
    with Collection.open(index) as collection:
        rows = chosen_methods(methods or ("bow", *_PLAIN, *_RANKED), collection, proximity)
        texts = collection.corpus().documents
    return multilabel(rows, texts, known, ks, DistanceCache(index / KEPT), progress)


def evaluate_gamma(
    index: Path,
    qrels: str,
    *,
    queries: str | None = None,
    candidates: str | None = None,
    grid: Sequence[float] = GRID,
    measures: Sequence[str] = (),
    without_self: bool = False,
    folds: int = 0,
    progress: Progress = silent,
) -> Table:
    """Try every gamma of a grid with both weights for P-WMD, and tell what comes of choosing on other queries.

    `folds`: see `Task`; the other options are those of `evaluate_retrieval`.
    """
    methods = [f"pwmd:gamma={gamma:g},weights={weights}" for weights in ("tf", "tfidf") for gamma in grid]
    return evaluate_retrieval(
        index,
        qrels,
        queries=queries,
        candidates=candidates,
        methods=methods,
        measures=measures,
        without_self=without_self,
        folds=folds,
        progress=progress,
    )


def evaluate_bounds(
    index: Path,
    *,
    queries: int = 20,
    gamma: float | None = None,
    depths: Sequence[int] = DEPTHS,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[Table, Table]:
    """Compare every bound with the distance for a sample of documents, and say what a depth of m costs.

    `gamma` is by default the collection's. Raises UsageError where there are too few documents.
    """
    with Collection.open(index) as collection:
        used = collection.settings.gamma if gamma is None else gamma
        texts = collection.corpus().documents
    measured = compare(texts, queries, used, DistanceCache(index / KEPT), progress, seed)
    return bounds_table(texts, measured, used), depth_table(texts, measured, depths)
