"""The experiments of `moverank evaluate`: from files and options to tables."""

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

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
from moverank.indexer.plugins.laboratory.evaluating import (
    BoundsExperiment,
    GammaExperiment,
    KnnExperiment,
    Methods,
    MultilabelExperiment,
    RetrievalExperiment,
)
from moverank.indexer.plugins.laboratory.method import (
    RANDOM,
    Method,
    Table,
    baselines,
    check_no_given,
    compares_given,
    parse_method,
    parse_numbers,
)
from moverank.indexer.plugins.laboratory.retrieval import RetrievalTask, RunFiles, retrieval_table
from moverank.indexer.reading.inputs.judgments import read_labels, read_qrels
from moverank.indexer.values.search_options import Progress
from moverank.rerank.errors import EvaluationError
from moverank.rerank.evaluation.knn import predefined_split, random_splits
from moverank.rerank.evaluation.measures import DEFAULT_MEASURES, measure
from moverank.rerank.ranking import AUTO_RANK

WEIGHTS = ("tf", "tfidf")
_DEPTHS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)

_KS = 2, 5
_COUNTS = (RANDOM, "bow", "tfidf")
_DISTANCES = ("wcd", "rwmd", "chamfer", "wmd", "wmd:weights=tfidf")
_RANKED = ("pwmd", "pwmd:weights=tfidf")


def evaluate_retrieval(index: Path, experiment: RetrievalExperiment, progress: Progress) -> Table:
    """Measure methods by judged queries.

    The reference is by default BM25 with stems, or else BM25, or else the first row; for the rows `chosen` see
    `RetrievalTask`.
    """
    files, cutoff = RunFiles(experiment.run_file, experiment.per_query), experiment.longest
    files.check()
    given = QueryFiles.of(experiment)
    judgments = given.judgments(read_qrels(experiment.qrels))
    train = given.judgments(read_qrels(experiment.train)) if experiment.train is not None else None
    named = experiment.measures or DEFAULT_MEASURES
    check_measures(named)
    with open_index(index) as collection:
        rows = chosen_methods(experiment, collection, has_scores=given.scores is not None)
        several = [judgments, *([train] if train else [])]
        trial = given.trial(collection, several, [row.ranking for row in rows], progress)
    ranked = given.candidates
    pairs = sum(map(len, ranked.values())) if ranked else len(trial.queries) * len(trial.pool)
    note_workload(rows, pairs, f"{len(trial.queries):,} queries, {len(trial.pool):,} documents")
    task = RetrievalTask(judgments, named, experiment.clean, experiment.reference, experiment.folds, train, cutoff)
    return _naming_own(retrieval_table(rows, trial, task, files), rows)


def evaluate_knn(index: Path, experiment: KnnExperiment, progress: Progress) -> Table:
    """Measure methods by kNN classification of the documents that have a label; k is chosen for each split.

    The reference is by default as in `evaluate_retrieval`.
    """
    predictions, k, split = experiment.predictions, experiment.k, experiment.split
    if predictions is not None:
        check_writable(predictions)
    with open_index(index) as collection:
        rows = chosen_methods(experiment, collection)
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
    if experiment.clean and len(texts):
        texts = texts.take(find_duplicates(texts).unique_rows)
    if split == "predefined":
        splits = [predefined_split([corpus.splits[key] for key in texts.keys])]
    else:
        splits = random_splits(len(texts), times=experiment.times, seed=experiment.seed)
    note_workload(rows, pairs_of(splits, k), f"{len(texts):,} documents, splits: {len(splits)}")
    data = LabelledTexts.of(texts, splits, RowCache(results_directory(index)))
    return _naming_own(classification_table(rows, data, progress, k, experiment.reference, predictions), rows)


def check_measures(names: Iterable[str]) -> None:
    """Raise UsageError for an unknown measure."""
    try:
        for name in names:
            measure(name)
    except EvaluationError as error:
        raise UsageError(str(error)) from error


def chosen_methods(
    chosen: Methods, collection: Opened, others: Sequence[str] = (), *, has_scores: bool = False
) -> list[Method]:
    """Parse the rows of an experiment, by default `others`, or the usual ones for `collection`.

    With mutual proximity, each is repeated. `has_scores`: the candidates have scores of their engine, for which the
    term `vector` stands. Raises UsageError for a name that compares given vectors.
    """
    settings, own = collection.settings, collection.settings.ranking
    compares = partial(compares_given, settings=settings, has_scores=has_scores)
    usual = (*_COUNTS, *baselines(own, settings.stem), *_DISTANCES, *(_RANKED if own.gamma else ()))
    rows = []
    known = compares(own) or str(own) in usual
    for name in list(dict.fromkeys(chosen.methods or others or (*usual, *(() if known else (AUTO_RANK,))))):
        method = parse_method(name, own)
        check_no_given(method.ranking, settings, has_scores=has_scores)
        rows.append(method)
        single = method.ranking is not None and len(method.ranking.terms) == 1
        if chosen.proximity and single and not method.has_proximity:
            rows.append(parse_method(f"{name}{',' if ':' in name else ':'}proximity={chosen.proximity}", own))
    return rows


def _naming_own(table: Table, rows: Sequence[Method]) -> Table:
    """Return a table that gives the specification of its row `auto`, if it has that row."""
    own = next((str(row.ranking) for row in rows if row.label == AUTO_RANK), None)
    return replace(table, facts={**table.facts, AUTO_RANK: own}) if own else table


def evaluate_multilabel(index: Path, experiment: MultilabelExperiment, progress: Progress) -> Table:
    """Measure how well the nearest others predict the several labels of each document."""
    labels, ks = experiment.labels, experiment.ks or _KS
    labels_of = read_labels(labels)
    if min(ks) < 1:
        raise UsageError("k must be whole numbers of 1 or more")
    with Collection.open(index) as collection:
        settings = collection.settings
        usual = ("bow", *_COUNTS, *baselines(settings.ranking, settings.stem), *_DISTANCES, *_RANKED)
        rows = chosen_methods(experiment, collection, usual)
        texts = corpus_of(collection).documents
    if not any(labels_of.get(key) for key in texts.keys):
        first = f"{next(iter(labels_of))!r}, not {texts.keys[0]!r}" if texts.keys else "and the collection is empty"
        raise UsageError(f"{labels}: none of its keys is that of a document with a word: its first is {first}")
    note_workload(rows, len(texts) ** 2, f"{len(texts):,} documents with each other")
    cache = RowCache(results_directory(index))
    return _naming_own(multilabel_table(rows, texts, labels_of, ks, cache, progress), rows)


def evaluate_gamma(index: Path, experiment: GammaExperiment, progress: Progress) -> Table:
    """Measure P-WMD for each gamma, with tf and tf-idf weights, and for the best choice on other queries."""
    grid = parse_numbers("--grid", experiment.grid)
    methods = [f"pwmd:gamma={gamma:g},weights={weights}" for weights in WEIGHTS for gamma in grid]
    shared = {field.name: getattr(experiment, field.name) for field in fields(experiment) if field.name != "grid"}
    table = RetrievalExperiment(**shared | {"methods": methods, "folds": experiment.folds or 0}).run(index, progress)
    return replace(table, facts={**table.facts, "grid": grid})


def evaluate_bounds(index: Path, experiment: BoundsExperiment, progress: Progress) -> Table:
    """Return the tightness of each bound, or the recall of prefetch and prune with m candidates.

    Raises UsageError for too few documents.
    """
    with Collection.open(index) as collection:
        gamma = collection.settings.gamma if experiment.gamma is None else experiment.gamma
        texts = corpus_of(collection).documents
    cache = RowCache(results_directory(index))
    sample = sample_bounds(texts, experiment.sample, gamma, cache, progress, experiment.seed)
    return depth_table(texts, sample, _DEPTHS) if experiment.depths else bounds_table(texts, sample, gamma)
