"""`evaluate multilabel`: how well neighbours predict several labels per document, leave-one-out (Trapp et al. 2017)."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.method import Method
from moverank.indexer.evaluation.rankers import nearest_of
from moverank.indexer.evaluation.result_table import Table, Value
from moverank.indexer.evaluation.trial import Trial, distances_of
from moverank.indexer.progress import Progress
from moverank.indexer.reranking.counted_texts import Texts
from moverank.rerank.evaluation.multilabel import improvement, macro_f1, predict_labels


def multilabel(
    methods: Sequence[Method],
    texts: Texts,
    labels: Mapping[str, AbstractSet[str]],
    ks: Sequence[int],
    cache: DistanceCache,
    progress: Progress,
) -> Table:
    """Predict each document's labels by its k nearest others; return macro F1 and the improvement over the first row.

    `methods` are the rows and `texts` the documents; only those that have `labels`, by key, take part. `ks` are the
    numbers of neighbours. `cache` stores distances; `progress` is called after each step. Raises UsageError if there
    are not more labelled documents than the largest k.
    """
    pool = texts.take([row for row, key in enumerate(texts.keys) if labels.get(key)])
    if len(pool) <= max(ks):
        raise UsageError(f"{len(pool)} documents have a label: there must be more than k, which is {max(ks)}")
    names = sorted({label for key in pool.keys for label in labels[key]})
    truth = np.array([[name in labels[key] for name in names] for key in pool.keys])
    rows: list[dict[str, Value]] = []
    baselines: dict[int, float] = {}
    for method in methods:
        neighbours = _nearest_others(method, pool, max(ks), cache, progress)
        row: dict[str, Value] = {"method": method.label}
        for k in ks:
            f1 = macro_f1(truth, predict_labels(truth, neighbours, k))
            baseline = baselines.setdefault(k, f1)
            row[f"f1@{k}"] = f1
            row[f"improvement@{k}"] = improvement(f1, baseline) if baseline > 0 else None
        rows.append(row)
    facts = {"documents": len(pool), "labels": len(names), "baseline": methods[0].label}
    return Table("multilabel", tuple(rows), facts, higher=tuple(f"f1@{k}" for k in ks))


def _nearest_others(method: Method, pool: Texts, k: int, cache: DistanceCache, progress: Progress) -> NDArray[np.int64]:
    """Return the rows (n, k) of the nearest others of every document; -1 for none."""
    own_rows = np.arange(len(pool))
    if method.proximity:
        return nearest_of(distances_of(method, Trial(pool, pool, own_rows, cache, progress)), len(pool), k)
    nearest = method.ranker(pool, cache).nearest(pool, k + 1, progress)
    # The document itself, the first but for others at distance 0, is moved to the end and cut off.
    order = np.argsort(nearest == own_rows[:, None], axis=1, kind="stable")
    return np.take_along_axis(nearest, order, axis=1)[:, :k]
