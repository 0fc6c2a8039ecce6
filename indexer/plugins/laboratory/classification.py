"""`evaluate knn`: how often each method's nearest neighbours predict the wrong label of a document.

`evaluate multilabel`: how well neighbours predict several labels of a document, leave-one-out (Trapp et al. 2017).
"""

import csv
import io
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.files.atomic_write import write_text
from moverank.indexer.plugins.laboratory.distances import RowCache
from moverank.indexer.plugins.laboratory.duplicates import find_duplicates
from moverank.indexer.plugins.laboratory.method import Figure, Method, Table, reference_row
from moverank.indexer.plugins.laboratory.trial import Trial
from moverank.indexer.reranking.texts import Texts
from moverank.indexer.values.search_options import Progress, silent
from moverank.rerank.evaluation.knn import (
    KS,
    KnnError,
    Split,
    choose_k,
    improvement,
    macro_f1,
    predict,
    predict_labels,
)
from moverank.rerank.evaluation.measures import p_values
from moverank.rerank.runtime.parallel import map_ahead


@dataclass(frozen=True, slots=True, eq=False)
class LabelledTexts:
    """Labelled documents, the indices (n,) of their labels in `names`, and splits; `cache` stores distances."""

    texts: Texts
    labels: NDArray[np.int64]
    names: tuple[str, ...]
    splits: Sequence[Split]
    cache: RowCache

    @classmethod
    def of(cls, texts: Texts, splits: Sequence[Split], cache: RowCache) -> "LabelledTexts":
        """Assign indices to the labels; UsageError if a document has none, or all have the same."""
        check_labels(texts.labels)
        names = tuple(sorted({label for label in texts.labels if label is not None}))
        index = {name: i for i, name in enumerate(names)}
        labels = np.array([index[label] for label in texts.labels if label is not None], np.int64)
        return cls(texts, labels, names, splits, cache)


def check_labels(labels: Sequence[str | None]) -> None:
    """Raise UsageError unless all documents have a label, and there are at least two labels."""
    if not labels or None in labels:
        raise UsageError(
            "no document has a label: index records with a field `label`, or name their field (--label-field)"
        )
    if len(set(labels)) < 2:
        raise UsageError(f"all documents have the label {labels[0]!r}: classification needs at least two")


@dataclass(frozen=True, slots=True, eq=False)
class Classified:
    """The indices (m,) of the labels predicted for a split's test documents, -1 without neighbours, and k."""

    predictions: NDArray[np.int64]
    k: int


def classification_table(
    methods: Sequence[Method],
    data: LabelledTexts,
    progress: Progress,
    k: int | None = None,
    reference: str | None = None,
    predictions: Path | None = None,
) -> Table:
    """Classify the test part of every split by the neighbours in its training part.

    `methods` are the rows, `data` the documents with their splits. `progress` is called after each step. `k` neighbours
    vote; by default the k with the smallest error when 80 % of the training part classify the rest (Kusner et al. 2015,
    section 5.2), chosen for each method and split. Documents without a neighbour count as errors. `reference` is the
    label of the method that the others are tested against, None: as in `retrieval`. The column p has the p values of
    Fisher's randomisation test, over test documents, of the share of splits in which a document is classified wrongly,
    adjusted by Holm's method. `predictions` is a CSV file to write. Raises UsageError if the reference is not a row.
    """
    labels = [method.label for method in methods]
    chosen = reference_row(reference, methods, labels)
    results = dict(zip(labels, _all_splits(methods, data, progress, k), strict=True))
    p = p_values({label: _wrong(of_splits, data) for label, of_splits in results.items()}, chosen)
    if predictions is not None:
        write_text(predictions, _csv(results, data))
    rows: list[dict[str, Figure]] = []
    for label, of_splits in results.items():
        errors = [
            float(np.mean(one.predictions != data.labels[split.test]))
            for one, split in zip(of_splits, data.splits, strict=True)
        ]
        knn = KnnError(tuple(errors), tuple(one.k for one in of_splits))
        row: dict[str, Figure] = {"method": label, "error": knn.mean, "deviation": knn.deviation, "p": p.get(label)}
        rows.append(row | {"k": " ".join(map(str, knn.ks))})
    duplicates = find_duplicates(data.texts)
    facts = {
        "documents": len(data.texts),
        "labels": len(data.names),
        "splits": len(data.splits),
        "train": len(data.splits[0].train),
        "test": len(data.splits[0].test),
        "reference": chosen,
        **duplicates.facts(),
    }
    return Table("knn", tuple(rows), facts, tuple(duplicates.notes(clean=False)), lower=("error",))


def _wrong(of_splits: Sequence[Classified], data: LabelledTexts) -> NDArray[np.float64]:
    """Return the share (t,) of splits in which each document of a test part is classified wrongly."""
    wrong, tested = np.zeros(len(data.labels)), np.zeros(len(data.labels))
    for one, split in zip(of_splits, data.splits, strict=True):
        wrong[split.test] += one.predictions != data.labels[split.test]
        tested[split.test] += 1
    return wrong[tested > 0] / tested[tested > 0]


def _csv(results: Mapping[str, Sequence[Classified]], data: LabelledTexts) -> str:
    """Return a row for each test document of each split, with each method's prediction, empty without neighbours."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["split", "key", "label", *results])
    for number, split in enumerate(data.splits):
        predicted = [of_splits[number].predictions.tolist() for of_splits in results.values()]
        for row, *found in zip(split.test.tolist(), *predicted, strict=True):
            label = data.names[data.labels[row]]
            shown = [data.names[one] if one >= 0 else "" for one in found]
            writer.writerow([number + 1, data.texts.keys[row], label, *shown])
    return buffer.getvalue()


def _all_splits(
    methods: Sequence[Method], data: LabelledTexts, progress: Progress, k: int | None
) -> list[list[Classified]]:
    """Return the result of every method on every split; methods that use one core run in parallel."""
    splits = range(len(data.splits))
    jobs = [(method, split) for method in methods if not method.uses_all_cores for split in splits]

    def run(job: tuple[Method, int]) -> Classified:
        return _classified(job[0], data, data.splits[job[1]], silent, k)

    results: dict[tuple[str, int], Classified] = {}
    for done, ((method, split), result) in enumerate(map_ahead(run, jobs), start=1):
        results[method.label, split] = result
        progress("Trying methods side by side", done, len(jobs), "splits")
    for method in methods:
        for split in splits if method.uses_all_cores else ():
            results[method.label, split] = _classified(method, data, data.splits[split], progress, k)
    return [[results[method.label, split] for split in splits] for method in methods]


def _classified(method: Method, data: LabelledTexts, split: Split, progress: Progress, k: int | None) -> Classified:
    """Return the predictions for the test part of a split."""
    labels = len(data.names)
    if k is None:
        inner = split.validation_split()
        k = choose_k(_votes(method, data, inner, progress, KS[-1]), data.labels[inner.test], labels)
    votes = _votes(method, data, split, progress, k)
    return Classified(predict(votes, min(k, votes.shape[1]), labels), k)


def _votes(method: Method, data: LabelledTexts, split: Split, progress: Progress, most: int) -> NDArray[np.int64]:
    """Return the labels (m, k <= most) of each test document's neighbours, nearest first; -1 where there is none."""
    pool, queries = data.texts.take(split.train), data.texts.take(split.test)
    k = min(most, len(pool))
    nearest = Trial(pool, queries, np.full(len(queries), -1, np.int64), data.cache, progress).nearest(method, k)
    return np.where(nearest >= 0, data.labels[split.train][nearest], -1)


def multilabel_table(
    methods: Sequence[Method],
    texts: Texts,
    labels: Mapping[str, AbstractSet[str]],
    ks: Sequence[int],
    cache: RowCache,
    progress: Progress,
) -> Table:
    """Predict each document's labels by its k nearest others; return macro F1 and the improvement over the first row.

    `methods` are the rows and `texts` the documents; only documents with `labels`, by key, take part. `ks` are the
    numbers of neighbours. `cache` stores distances; `progress` is called after each step. Raises UsageError if there
    are not more labelled documents than the largest k.
    """
    pool = texts.take([row for row, key in enumerate(texts.keys) if labels.get(key)])
    if len(pool) <= max(ks):
        raise UsageError(f"{len(pool)} documents have a label: there must be more than k, which is {max(ks)}")
    names = sorted({label for key in pool.keys for label in labels[key]})
    truth = np.array([[name in labels[key] for name in names] for key in pool.keys])
    rows: list[dict[str, Figure]] = []
    baselines: dict[int, float] = {}
    for method in methods:
        neighbours = Trial(pool, pool, np.arange(len(pool)), cache, progress).nearest(method, max(ks))
        row: dict[str, Figure] = {"method": method.label}
        for k in ks:
            f1 = macro_f1(truth, predict_labels(truth, neighbours, k))
            baseline = baselines.setdefault(k, f1)
            row[f"f1@{k}"] = f1
            row[f"improvement@{k}"] = improvement(f1, baseline) if baseline > 0 else None
        rows.append(row)
    facts = {"documents": len(pool), "labels": len(names), "baseline": methods[0].label}
    return Table("multilabel", tuple(rows), facts, higher=tuple(f"f1@{k}" for k in ks))
