"""The experiments of `moverank evaluate`: from files and options to tables."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from moverank.indexer.collection import Collection
from moverank.indexer.errors import UsageError
from moverank.indexer.files.atomic_write import check_writable
from moverank.indexer.opening import Opened, open_index
from moverank.indexer.plugins.laboratory.bound_tightness import (
    bounds_table,
    depth_table,
    note_workload,
    pairs_of,
    sample_bounds,
)
from moverank.indexer.plugins.laboratory.classification import (
    LabelledTexts,
    check_labels,
    classification_table,
    multilabel_table,
)
from moverank.indexer.plugins.laboratory.corpus import QueryFiles, corpus_of
from moverank.indexer.plugins.laboratory.distances import RowCache, results_directory
from moverank.indexer.plugins.laboratory.duplicates import find_duplicates
from moverank.indexer.plugins.laboratory.method import (
    RANDOM,
    Method,
    Table,
    baselines,
    check_no_given,
    compares_given,
    parse_method,
)
from moverank.indexer.plugins.laboratory.retrieval import RetrievalTask, RunFiles, retrieval_table
from moverank.indexer.reading.inputs.judgments import read_labels, read_qrels
from moverank.indexer.search_options import Progress, silent
from moverank.rerank.errors import EvaluationError
from moverank.rerank.evaluation.knn import TIMES, predefined_split, random_splits
from moverank.rerank.evaluation.measures import DEFAULT_MEASURES, measure
from moverank.rerank.ranking import AUTO_RANK

CUTOFF = 100
"""Number of documents in the ranking of a query."""

GAMMAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
WEIGHTS = ("tf", "tfidf")
DEPTHS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)

_COUNTS = (RANDOM, "bow", "tfidf")
_DISTANCES = ("wcd", "rwmd", "chamfer", "wmd", "wmd:weights=tfidf")
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
    cutoff: int | None = CUTOFF,
    prefix: str | None = None,
    files: RunFiles = RunFiles(),  # noqa: B008 - immutable
    progress: Progress = silent,
) -> Table:
    """Measure methods by judged queries.

    `index`: the collection. `qrels`: the file of judgments. `queries`: the file of query texts; without it, the queries
    are the documents whose keys the judgments name. `candidates`: a file with candidates for each query, which are
    ranked instead of all documents; if it is a run, the term `vector` stands for its scores. `methods` and `measures`:
    rows and columns, by default the usual ones. `reference`: the row that the others are tested against, by default
    BM25 with stems, or else BM25, or else the first. `cutoff`: number of documents that are ranked for a query, None:
    all. `prefix`: the prefix of the keys, from `index --prefix`, which the files lack. `files`: files to write besides
    the table. `without_self`: leave the document with a query's key out of its results; always done if documents are
    the queries. `clean`: leave out duplicates. `proximity`: add a row with this mutual proximity for every method.
    `folds`, and `train`, the name of a file: see `RetrievalTask`. `progress`: called after each step.

    Raises ReadError, UsageError, EvaluationError, CollectionError.
    """
    files.check()
    given = QueryFiles.read(queries, candidates, without_self=without_self, prefix=prefix)
    judgments = given.judgments(read_qrels(qrels))
    train_judgments = given.judgments(read_qrels(train)) if train is not None else None
    check_measures(measures)
    with open_index(index) as collection:
        rows = chosen_methods(methods, collection, proximity, has_scores=given.scores is not None)
        several = [judgments, *([train_judgments] if train_judgments else [])]
        trial = given.trial(collection, several, [row.ranking for row in rows], progress)
    ranked = given.candidates
    pairs = sum(map(len, ranked.values())) if ranked else len(trial.queries) * len(trial.pool)
    note_workload(rows, pairs, f"{len(trial.queries):,} queries, {len(trial.pool):,} documents")
    named = tuple(measures) or DEFAULT_MEASURES
    task = RetrievalTask(judgments, named, clean, reference, folds, train_judgments, cutoff)
    return _naming_own(retrieval_table(rows, trial, task, files), rows)


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
    reference: str | None = None,
    predictions: Path | None = None,
    progress: Progress = silent,
) -> Table:
    """Measure methods by kNN classification of the documents that have a label.

    `index`: the collection. `methods`: the rows, by default the usual ones. `split`: predefined by the documents' field
    `split`, or `times` random splits, 70/30, drawn by `seed`; by default predefined if any document has the field. `k`:
    number of neighbours that vote, by default chosen for each split. `clean`: leave out duplicates. `proximity`:
    add a row with this mutual proximity for every method. `reference`: the row that the others are tested against, by
    default as in `evaluate_retrieval`. `predictions`: a CSV file to write. `progress`: called after each step.

    Raises UsageError, EvaluationError, CollectionError.
    """
    if predictions is not None:
        check_writable(predictions)
    with open_index(index) as collection:
        rows = chosen_methods(methods, collection, proximity)
        corpus = corpus_of(collection)
        index = collection.directory
    texts = corpus.documents
    used = [row for row, label in enumerate(texts.labels) if label is not None]
    check_labels([texts.labels[row] for row in used])
    if split is None:
        split = "predefined" if corpus.splits else "random"
    if split == "predefined":
        if not corpus.splits:
            raise UsageError("no document has a field `split` with train or test: leave --split out, or choose random")
        used = [row for row in used if texts.keys[row] in corpus.splits]
    texts = texts.take(used)
    if clean and len(texts):
        texts = texts.take(find_duplicates(texts).unique_rows)
    if split == "predefined":
        splits = [predefined_split([corpus.splits[key] for key in texts.keys])]
    else:
        splits = random_splits(len(texts), times=times, seed=seed)
    note_workload(rows, pairs_of(splits, k), f"{len(texts):,} documents, splits: {len(splits)}")
    data = LabelledTexts.of(texts, splits, RowCache(results_directory(index)))
    return _naming_own(classification_table(rows, data, progress, k, reference, predictions), rows)


def check_measures(names: Iterable[str]) -> None:
    """Raise UsageError for an unknown measure."""
    try:
        for name in names:
            measure(name)
    except EvaluationError as error:
        raise UsageError(str(error)) from error


def chosen_methods(
    names: Sequence[str], collection: Opened, proximity: str | None, *, has_scores: bool = False
) -> list[Method]:
    """Parse the rows `names`, by default the usual ones for `collection`; repeat each with `proximity`, if given.

    `has_scores`: the candidates have scores of their engine, for which the term `vector` stands. Raises UsageError for
    a name that compares given vectors.
    """
    settings, own = collection.settings, collection.settings.ranking
    compares = partial(compares_given, settings=settings, has_scores=has_scores)
    usual = (*_COUNTS, *baselines(own, settings.stem), *_DISTANCES, *(_RANKED if own.gamma else ()))
    rows = []
    known = compares(own) or str(own) in usual
    for name in list(dict.fromkeys(names or (*usual, *(() if known else (AUTO_RANK,))))):
        method = parse_method(name, own)
        check_no_given(method.ranking, settings, has_scores=has_scores)
        rows.append(method)
        single = method.ranking is not None and len(method.ranking.terms) == 1
        if proximity and single and not method.has_proximity:
            rows.append(parse_method(f"{name}{',' if ':' in name else ':'}proximity={proximity}", own))
    return rows


def _naming_own(table: Table, rows: Sequence[Method]) -> Table:
    """Return a table that gives the specification of its row `auto`, if it has that row."""
    own = next((str(row.ranking) for row in rows if row.label == AUTO_RANK), None)
    return replace(table, facts={**table.facts, AUTO_RANK: own}) if own else table


def evaluate_multilabel(
    index: Path,
    labels: str,
    *,
    methods: Sequence[str] = (),
    ks: Sequence[int] = (2, 5),
    proximity: str | None = None,
    progress: Progress = silent,
) -> Table:
    """Measure how well the nearest others predict the several labels of each document.

    `index`: the collection. `labels`: the file of the documents' labels. `methods`: the rows, the first of which is the
    baseline, by default the usual ones. `ks`: numbers of neighbours that vote. `proximity`: add a row with this mutual
    proximity for every method. `progress`: called after each step.

    Raises ReadError, UsageError, CollectionError.
    """
    labels_of = read_labels(labels)
    if not ks or min(ks) < 1:
        raise UsageError("k must be whole numbers of 1 or more")
    with Collection.open(index) as collection:
        settings = collection.settings
        usual = ("bow", *_COUNTS, *baselines(settings.ranking, settings.stem), *_DISTANCES, *_RANKED)
        rows = chosen_methods(methods or usual, collection, proximity)
        texts = corpus_of(collection).documents
    if not any(labels_of.get(key) for key in texts.keys):
        first = f"{next(iter(labels_of))!r}, not {texts.keys[0]!r}" if texts.keys else "and the collection is empty"
        raise UsageError(f"{labels}: none of its keys is that of a document with a word: its first is {first}")
    note_workload(rows, len(texts) ** 2, f"{len(texts):,} documents with each other")
    cache = RowCache(results_directory(index))
    return _naming_own(multilabel_table(rows, texts, labels_of, ks, cache, progress), rows)


def evaluate_gamma(
    index: Path,
    qrels: str,
    *,
    queries: str | None = None,
    candidates: str | None = None,
    grid: Sequence[float] = GAMMAS,
    measures: Sequence[str] = (),
    without_self: bool = False,
    folds: int = 0,
    prefix: str | None = None,
    progress: Progress = silent,
) -> Table:
    """Measure P-WMD for every gamma of `grid`, with tf and tf-idf weights, and for the best choice on other queries.

    There is a row for each gamma of `grid` and each of `WEIGHTS`, in order. The other parameters and the errors are
    as in `evaluate_retrieval`.
    """
    table = evaluate_retrieval(
        index,
        qrels,
        queries=queries,
        candidates=candidates,
        methods=[f"pwmd:gamma={gamma:g},weights={weights}" for weights in WEIGHTS for gamma in grid],
        measures=measures,
        without_self=without_self,
        folds=folds,
        prefix=prefix,
        progress=progress,
    )
    return replace(table, facts={**table.facts, "grid": [float(gamma) for gamma in grid]})


def evaluate_bounds(
    index: Path,
    *,
    queries: int = 20,
    gamma: float | None = None,
    depths: Sequence[int] = DEPTHS,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[Table, Table]:
    """Return the tightness of each bound, and the recall of prefetch and prune with m candidates.

    `index`: the collection. `queries`: number of sampled documents, drawn by `seed`, that are compared with all others.
    `gamma`: sensitivity to rank, by default the collection's. `depths`: the values of m. `progress`: called after
    each step.

    Raises UsageError for too few documents, and CollectionError.
    """
    with Collection.open(index) as collection:
        used = collection.settings.gamma if gamma is None else gamma
        texts = corpus_of(collection).documents
    sample = sample_bounds(texts, queries, used, RowCache(results_directory(index)), progress, seed)
    return bounds_table(texts, sample, used), depth_table(texts, sample, depths)
