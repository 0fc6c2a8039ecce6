"""`evaluate multilabel`: how well neighbours tell several labels of a document, leaving one out (Trapp et al. 2017)."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.evaluation.counted_texts import Texts
from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.method import Method, Trial, distances_of
from moverank.indexer.evaluation.rankers import nearest_of
from moverank.indexer.evaluation.result_table import Table, Value
from moverank.indexer.progress import Progress
from moverank.rerank.evaluation.multilabel import improvement, macro_f1, predict_labels


def multilabel(
    methods: Sequence[Method],
    texts: Texts,
    labels: Mapping[str, AbstractSet[str]],
    ks: Sequence[int],
    kept: DistanceCache,
    progress: Progress,
) -> Table:
    """Tell each document's labels by its k nearest others, and measure macro F1 and its improvement over the first row.

    Only documents with a label take part. Raises UsageError where there are not more than the largest k.
    """
    pool = texts.take([row for row, key in enumerate(texts.keys) if labels.get(key)])
    if len(pool) <= max(ks):
        raise UsageError(f"{len(pool)} documents have a label: there must be more than k, which is {max(ks)}")
    names = sorted({label for key in pool.keys for label in labels[key]})
    truth = np.array([[name in labels[key] for name in names] for key in pool.keys])
    rows: list[dict[str, Value]] = []
    baseline: dict[int, float] = {}
    for method in methods:
        places = _others(method, pool, max(ks), kept, progress)
        row: dict[str, Value] = {"method": method.label}
        for k in ks:
            found = macro_f1(truth, predict_labels(truth, places, k))
            baseline.setdefault(k, found)
            row[f"f1@{k}"] = found
            row[f"improvement@{k}"] = improvement(found, baseline[k]) if baseline[k] > 0 else None
        rows.append(row)
    facts = {"documents": len(pool), "labels": len(names), "baseline": methods[0].label}
    return Table("multilabel", tuple(rows), facts, higher=tuple(f"f1@{k}" for k in ks))


def _others(method: Method, pool: Texts, k: int, kept: DistanceCache, progress: Progress) -> NDArray[np.int64]:
    """Return the k nearest others (n, k) of every document, -1 where there is none."""
    every = np.arange(len(pool))
    if method.parts or method.proximity:
        return nearest_of(iter(distances_of(method, Trial(pool, pool, every, kept, progress))), len(pool), k)
    found = method.ranker(pool, kept).nearest(pool, k + 1, progress)
    # Itself comes first, but for others that are just as near; where it is not among them, the last one is too many.
    itself = np.where(found == every[:, None], 0, 1)
    order = np.argsort(1 - itself, axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1)[:, :k]
